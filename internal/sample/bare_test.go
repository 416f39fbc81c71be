package sample

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/moonlap/moonlap/internal/process"
)

// onStack is a process's memory with a word of its own on the stack.
type onStack struct {
	process.Memory
	at, word uint64
}

func (m onStack) ReadAt(p []byte, address uint64) error {
	if address != m.at || len(p) != 8 {
		return m.Memory.ReadAt(p, address)
	}
	binary.LittleEndian.PutUint64(p, m.word)
	return nil
}

// TestBareSyscall: os.execute sleeps in glibc's clone3, which has no rules for its frame where it makes
// the system call.
func TestBareSyscall(t *testing.T) {
	pid, _ := nginx(t)
	w := open(t, pid)
	libc, err := w.FindObject("wait4", "posix_spawn")
	if err != nil {
		t.Fatal(err)
	}
	wait4, _, _ := libc.Symbol("wait4")
	var after uint64
	clone3 := []byte("\xb8\xb3\x01\x00\x00\x0f\x05") // mov $435, %eax; syscall
	for _, m := range w.Maps {
		if !m.Executable || m.Path != libc.Path {
			continue
		}
		r := &process.Reader{Memory: w.Process}
		if i := bytes.Index(r.Bytes(m.Start, int(m.End-m.Start)), clone3); i >= 0 {
			after = m.Start + uint64(i+len(clone3))
		}
	}
	if after == 0 {
		t.Skip("this libc does not call clone3")
	}
	const stack = 1 << 12 // of nobody
	at := process.Registers{RIP: after, RSP: stack, RBX: 7}
	want := at
	want.RIP, want.RSP = wait4+4, stack+8
	if got, err := w.Caller(onStack{w.Process, stack, wait4 + 4}, at, false); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, word := range []uint64{0, 12, stack} {
		if _, err := w.Caller(onStack{w.Process, stack, word}, at, false); !errors.Is(err, process.ErrUnwind) {
			t.Errorf("from %#x: %v", word, err)
		}
	}
}
