package command

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// GuardCommand is the hidden command by which moonlap starts itself as the guard.
const GuardCommand = "time-guard"

// A Guard is a second process that kills the process group of the command which runs when
// we are killed: the kernel kills the command itself with us, but not what it has started.
// The group is noted in memory that both see, so the guard sleeps while commands are timed.
type Guard struct {
	cmd  *exec.Cmd
	in   io.Closer
	note *os.File
}

// StartGuard starts this program again as the guard.
func StartGuard() (*Guard, error) {
	fd, err := unix.MemfdCreate("moonlap-group", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("no guard: %w", err)
	}
	g := &Guard{cmd: exec.Command("/proc/self/exe", GuardCommand), note: os.NewFile(uintptr(fd), "group")}
	g.cmd.Args[0] = os.Args[0]
	g.cmd.ExtraFiles = []*os.File{g.note}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if g.in, err = g.cmd.StdinPipe(); err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		g.note.Close()
		return nil, fmt.Errorf("no guard: %w", err)
	}
	return g, nil
}

// Note tells the guard which process group runs; 0 is none.
func (g *Guard) Note(group int) {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], uint64(group))
	g.note.WriteAt(b[:], 0)
}

// Stop ends the guard.
func (g *Guard) Stop() {
	g.in.Close()
	g.cmd.Wait()
	g.note.Close()
}

// RunGuard is the guard itself: it waits until in ends, which is when the one who started
// it has, and kills the group that stands in the note. It listens to no signal that can be
// ignored.
func RunGuard(in io.Reader) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	note := os.NewFile(3, "group")
	io.Copy(io.Discard, in)
	var b [8]byte
	if n, err := note.ReadAt(b[:], 0); n < len(b) {
		if err == io.EOF {
			return nil // nothing was ever noted
		}
		return err
	}
	if group := int(binary.NativeEndian.Uint64(b[:])); group > 1 {
		syscall.Kill(-group, syscall.SIGKILL)
	}
	return nil
}
