package process_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/process/processtest"
)

const page = 4096

// made is a core of a process that had this file mapped, of which the core has the first page, a heap and
// a stack.
func made(t interface {
	Helper()
	Fatal(...any)
}, folder string) processtest.Core {
	t.Helper()
	mapped := filepath.Join(folder, "mapped")
	if err := os.WriteFile(mapped, slices.Concat(bytes.Repeat([]byte{1}, page), bytes.Repeat([]byte{2}, page)), 0o644); err != nil {
		t.Fatal(err)
	}
	return processtest.Core{
		PID: 4711, Name: "nginx", Title: "nginx: worker process", Signal: int(syscall.SIGSEGV),
		Registers: process.Registers{RIP: 0x401000, RSP: 0x7000_0100, RBP: 1, RBX: 2, RDX: 3, R12: 4, R13: 5, R14: 6, R15: 7},
		Maps: []process.Mapping{
			{Start: 0x400000, End: 0x400000 + 2*page, Executable: true, Inode: 1, Path: mapped},
			{Start: 0x600000, End: 0x600000 + page, Writable: true},
			{Start: 0x600000 + page, End: 0x600000 + 2*page, Writable: true}, // side by side, as after a fork
			{Start: 0x7000_0000, End: 0x7000_0000 + page, Writable: true, Path: "[stack]"},
		},
		Bytes: map[uint64][]byte{
			0x400000: bytes.Repeat([]byte{1}, page), 0x600000: bytes.Repeat([]byte{7}, page), 0x600000 + page: bytes.Repeat([]byte{7}, page),
			0x7000_0000: bytes.Repeat([]byte{8}, page),
		},
	}
}

func written(t interface{ Fatal(...any) }, folder string, file []byte) string {
	path := filepath.Join(folder, "core")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCore: a core tells all that a process that stands still does; what it leaves out is read from files.
func TestCore(t *testing.T) {
	folder := t.TempDir()
	c := made(t, folder)
	path := written(t, folder, c.File())
	p, err := process.OpenCore(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if diff := cmp.Diff(c.Maps, p.Maps); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	if p.PID != 4711 || p.Name() != "nginx" || p.Title() != "nginx: worker process" || p.Core.Signal != syscall.SIGSEGV {
		t.Errorf("%d %q %q %v", p.PID, p.Name(), p.Title(), p.Core.Signal)
	}
	var seen process.Registers
	if _, err := p.Stopped(0, func(r process.Registers) error { seen = r; return nil }); err != nil || seen != c.Registers {
		t.Errorf("%+v, %v", seen, err)
	}
	b := make([]byte, 2*page)
	if err := p.ReadAt(b, 0x600000); err != nil || !bytes.Equal(b, bytes.Repeat([]byte{7}, 2*page)) {
		t.Errorf("the heap: %v", err)
	}
	if err := p.ReadAt(b[:1], 0x600000+2*page); err == nil {
		t.Error("what lies behind the heap can be read")
	}
	s, err := p.Snapshot(process.SnapshotOptions{})
	if err != nil || s.Size() != 2*page || s.View(0x600000, 2*page) == nil || !s.Stopped || s.Registers != c.Registers {
		t.Errorf("%+v, %v", s, err)
	}
	if process.IsCore(filepath.Join(folder, "mapped")) || !process.IsCore(path) {
		t.Error("a core is not told from another file")
	}
}

// TestCoreOfMissingFiles: where the mapped files are others, or none, the core is refused where they are needed.
func TestCoreOfMissingFiles(t *testing.T) {
	for want, spoil := range map[string]func(string) error{
		"no such file": os.Remove,
		"another file": func(file string) error { return os.WriteFile(file, bytes.Repeat([]byte{3}, 2*page), 0o644) },
	} {
		folder := t.TempDir()
		c := made(t, folder)
		p, err := process.OpenCore(written(t, folder, c.File()), "")
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := spoil(filepath.Join(folder, "mapped")); err != nil {
			t.Fatal(err)
		}
		if _, err := p.FindObject("main"); !errors.Is(err, process.ErrFiles) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestCoreSpoilt: a core that is cut off or has bytes that were changed is read or refused, without a panic; what
// is cut is always refused.
func TestCoreSpoilt(t *testing.T) {
	folder := t.TempDir()
	whole := made(t, folder).File()
	rapid.Check(t, func(t *rapid.T) {
		file := slices.Clone(whole)
		cut := rapid.Bool().Draw(t, "cut")
		if cut {
			file = file[:rapid.IntRange(0, len(file)-1).Draw(t, "length")]
		} else {
			const headAndNotes = 64 + 5*56 + 800
			for range rapid.IntRange(1, 4).Draw(t, "changes") {
				file[rapid.IntRange(0, headAndNotes).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
			}
		}
		p, err := process.OpenCore(written(t, folder, file), "")
		if err != nil {
			return
		}
		defer p.Close()
		if cut {
			t.Fatal("a core that is cut off was read")
		}
		p.Stopped(0, func(r process.Registers) error { return p.ReadAt(make([]byte, 64), r.RSP) })
		p.FindObject("main")
		p.Snapshot(process.SnapshotOptions{})
	})
}

// TestCoreIsPlain: a pipe or a device is no core, and is not waited for.
func TestCoreIsPlain(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero", t.TempDir()} {
		if process.IsCore(path) {
			t.Errorf("%s is taken for a core", path)
		}
		if _, err := process.OpenCore(path, ""); err == nil || !strings.Contains(err.Error(), "is no plain file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
