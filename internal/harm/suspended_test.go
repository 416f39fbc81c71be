package harm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"

	"github.com/moonlap/moonlap/internal/process"
)

// suspended: Ctrl-Z, or what a job in the background gets that writes to its terminal or reads from it. While moonlap is
// suspended, nothing of it may be in the workers. Afterwards it goes on, and ends well.
func suspended(b *bed, l *look, r *rand.Rand) error {
	signals := []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTOU, syscall.SIGTTIN}
	signal := signals[r.IntN(len(signals))]
	syscall.Kill(-l.Process.Pid, signal)
	err := awaited(l.stands)
	if l.late = err == nil && l.stay(0); !l.late {
		err = errors.Join(err, b.goesOn(), l.stands())
	}
	syscall.Kill(-l.Process.Pid, syscall.SIGCONT)
	if e := l.finish(); e != nil {
		return errors.Join(err, e)
	}
	if code := l.ProcessState.ExitCode(); code != 0 {
		err = errors.Join(err, fmt.Errorf("after %v it ends with %d: %s", signal, code, l.output.String()))
	}
	return err
}

// stands tells whether moonlap is stopped, or has ended by itself.
func (l *look) stands() error {
	s, err := (&process.Process{PID: l.Process.Pid}).Stat()
	switch {
	case err == nil && s.State == 'T':
		return nil
	case l.stay(0) && l.ProcessState.ExitCode() >= 0:
		return nil
	}
	return fmt.Errorf("moonlap is in state %c, not suspended, %v", s.State, err)
}
