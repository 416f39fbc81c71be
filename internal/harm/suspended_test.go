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

// stands reports whether moonlap is stopped, or has ended by itself. All of its threads have to be: one that is about to end the
// program does that although the others are stopped.
func (l *look) stands() error {
	all := threads(l.Process.Pid)
	for _, thread := range all {
		if s, err := (&process.Process{PID: thread}).Stat(); err != nil || s.State != 'T' {
			all = nil
			break
		}
	}
	if len(all) > 0 || l.stay(0) && l.ProcessState.ExitCode() >= 0 {
		return nil
	}
	s, err := (&process.Process{PID: l.Process.Pid}).Stat()
	return fmt.Errorf("moonlap is in state %c, not suspended, %v", s.State, err)
}
