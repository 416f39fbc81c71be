package runtime

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// drained reads a pipe until its time is up (see hurry), and then whatever is still in it: what a process wrote before
// it ended is not lost because we were slow to read it, as on a busy machine.
type drained struct {
	pipe *os.File
	left int
}

// mostLeft is what a pipe can hold. Somebody who escaped may write on for ever.
const mostLeft = 1 << 20

func untilDrained(pipe *os.File) io.Reader { return &drained{pipe, mostLeft} }

func (d *drained) Read(b []byte) (int, error) {
	n, err := d.pipe.Read(b)
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	raw, err := d.pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	if err := raw.Control(func(fd uintptr) { n, err = unix.Read(int(fd), b) }); err != nil {
		return 0, err
	}
	if err != nil || n <= 0 || d.left <= 0 {
		return 0, io.EOF
	}
	d.left -= n
	return n, nil
}
