package harm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/moonlap/moonlap/internal/process"
)

// TestNotices: this test bed sees each wrong that it counts. The test does it itself, and says nothing of it.
func TestNotices(t *testing.T) {
	t.Parallel()
	b := newBed(t, t)
	sound := func() error { return nil }
	l := b.look("help")
	if err := l.finish(); err != nil {
		t.Fatal(err)
	}
	worker := b.workers()[0]
	for _, wrong := range []struct {
		name, says string
		do         func() (undo func() error)
		seen       func() error
	}{
		{"frozen", "in state T", func() func() error {
			syscall.Kill(worker, syscall.SIGSTOP)
			return func() error { return syscall.Kill(worker, syscall.SIGCONT) }
		}, b.healthy},
		{"held", "in state t", func() func() error {
			release := debug(worker)
			return func() error { release(); return awaited(b.healthy) }
		}, b.healthy},
		{"breakpoint", "is 0xcc", func() func() error {
			return spoil(t, worker)
		}, b.untouched},
		{"program", "was left", func() func() error { return leaveProgram(t) }, func() error { return b.noneLeft(b.newPrograms()) }},
		{"file", "was left", func() func() error {
			file := filepath.Join(l.folder, "left")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return func() error { return os.Remove(file) }
		}, l.noFiles},
		{"process", "were left", func() func() error {
			left := b.look("watch --master MASTER --every 60s")
			l.mark, left.mark = left.mark, l.mark
			return func() error {
				l.kill()
				return left.finish()
			}
		}, l.noProcesses},
		{"request", "of its connection", func() func() error {
			syscall.Kill(worker, syscall.SIGKILL)
			return sound
		}, func() error { return errors.Join(b.load.losses()...) }},
		{"dead", "and were", func() func() error { return sound }, b.alive},
	} {
		undo := wrong.do()
		err := awaited(func() error { // what is to be seen is to be seen soon
			if err := wrong.seen(); err == nil || !strings.Contains(err.Error(), wrong.says) {
				return errUnseen
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: it was not seen", wrong.name)
		}
		if err := undo(); err != nil {
			t.Errorf("%s: %v", wrong.name, err)
		}
	}
}

var errUnseen = os.ErrNotExist

// spoil writes a breakpoint into a worker's text, at a byte that no worker runs: the last of a mapping, which fills its page.
func spoil(t *testing.T, pid int) (undo func() error) {
	p, err := process.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.Maps {
		was := make([]byte, 1)
		at := int64(m.End - 1)
		if !m.Executable || m.Inode == 0 {
			continue
		}
		if _, err := memory.ReadAt(was, at); err != nil || was[0] != 0 {
			continue
		}
		if _, err := memory.WriteAt([]byte{0xcc}, at); err != nil {
			t.Fatal(err)
		}
		return func() error {
			defer memory.Close()
			_, err := memory.WriteAt(was, at)
			return err
		}
	}
	t.Fatal("no text ends with bytes that nobody runs")
	return nil
}

// leaveProgram leaves a program that a socket holds, so that nobody has it open.
func leaveProgram(t *testing.T) (undo func() error) {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SocketFilter, License: "MIT", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}})
	if err != nil {
		t.Skip(err)
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
	const attachBPF = 50 // SO_ATTACH_BPF
	if err == nil {
		err = syscall.SetsockoptInt(pair[0], syscall.SOL_SOCKET, attachBPF, p.FD())
	}
	p.Close()
	if err != nil {
		t.Fatal(err)
	}
	return func() error { return errors.Join(syscall.Close(pair[0]), syscall.Close(pair[1])) }
}
