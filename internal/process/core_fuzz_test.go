package process_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/memory"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/process/processtest"
)

// smallCore is one with little around what matters, for the fuzzer to change.
func smallCore() processtest.Core {
	return processtest.Core{
		PID: 1, Name: "nginx", Title: "nginx: worker process", Registers: process.Registers{RIP: 0x401000, RSP: 0x7000_0100},
		Maps: []process.Mapping{
			{Start: 0x600000, End: 0x600000 + page, Writable: true},
			{Start: 0x600000 + page, End: 0x600000 + 2*page, Writable: true},
			{Start: 0x7000_0000, End: 0x7000_0000 + page, Writable: true, Path: "[stack]"},
		},
		Bytes: map[uint64][]byte{0x600000: bytes.Repeat([]byte{7}, 64), 0x600000 + page: {1}, 0x7000_0000: {8}},
	}
}

// FuzzCore: whatever a file holds, it is refused, or all that it has can be read, in bounded memory.
func FuzzCore(f *testing.F) {
	whole := smallCore().File()
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 1<<20 {
			return
		}
		p, err := process.OpenCore(written(t, t.TempDir(), file), "/no such folder")
		if err != nil {
			return
		}
		defer p.Close()
		p.Stopped(time.Minute, func(r process.Registers) error { return p.ReadAt(make([]byte, 64), r.RSP) })
		p.FindObject("main")
		space := &memory.Space{Checked: true}
		defer space.Close()
		s, err := p.Snapshot(process.SnapshotOptions{Space: space})
		if err != nil {
			return
		}
		if n := s.Size(); n > int64(len(file))*int64(len(p.Maps)) {
			t.Errorf("%d bytes of a file of %d", n, len(file))
		}
	})
}

// TestCoreSparse: a core of a few blocks that claims a terabyte is refused with what it would need.
func TestCoreSparse(t *testing.T) {
	const claimed = 1 << 40
	folder := t.TempDir()
	c := smallCore()
	file := c.File()
	// The first segment with memory is the last of the file, and of a terabyte.
	const headers, entry = 64, 56
	segment := file[headers+entry:]
	binary.LittleEndian.PutUint64(segment[8:], 1<<20)    // where it is in the file
	binary.LittleEndian.PutUint64(segment[16:], 1<<44)   // its address
	binary.LittleEndian.PutUint64(segment[32:], claimed) // its size in the file
	binary.LittleEndian.PutUint64(segment[40:], claimed)
	path := written(t, folder, file)
	if err := os.Truncate(path, 1<<20+claimed); err != nil {
		t.Skipf("%s cannot hold a sparse file of a terabyte: %v", filepath.Dir(path), err)
	}
	p, err := process.OpenCore(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	space := &memory.Space{Checked: true}
	defer space.Close()
	_, err = p.Snapshot(process.SnapshotOptions{Space: space})
	var short *memory.ShortError
	if l := (memory.System{}).Machine(); l.Spare > claimed/32 {
		t.Skipf("this machine has %s to spare, enough for it", memory.Size(l.Spare))
	}
	if !errors.As(err, &short) || short.Needed < claimed/64 {
		t.Errorf("%v", err)
	}
	t.Log(err)
}
