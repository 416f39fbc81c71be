package harm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"

	"github.com/moonlap/moonlap/internal/process"
)

// suspended: Ctrl-Z, or what a job in the background gets that writes to its terminal or reads from it. While moonlap is
// suspended, nothing of it may be in the workers. It goes on, or ends, afterwards.
func suspended(b *bed, l *look, r *rand.Rand) error {
	signals := []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTOU, syscall.SIGTTIN}
	syscall.Kill(-l.Process.Pid, signals[r.IntN(len(signals))])
	err := errors.Join(awaited(l.stands), b.goesOn())
	syscall.Kill(-l.Process.Pid, syscall.SIGCONT)
	return err
}

// stands tells whether moonlap is stopped, or has ended.
func (l *look) stands() error {
	s, err := (&process.Process{PID: l.Process.Pid}).Stat()
	if err != nil || s.Ended() || s.State == 'T' {
		return nil
	}
	return fmt.Errorf("moonlap is in state %c, not suspended", s.State)
}
