package harm

import (
	"fmt"
	"math/rand/v2"
	"syscall"
)

// nothing happens: moonlap ends by itself, and has seen something.
func nothing(_ *bed, l *look, _ *rand.Rand) error {
	if err := l.finish(); err != nil {
		return err
	}
	if code := l.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("exit status %d: %s", code, l.output.String())
	}
	return nil
}

// killed: all of moonlap's processes end at once, as by the kernel for want of memory, or only the one that was started.
func killed(b *bed, l *look, r *rand.Rand) error {
	if r.IntN(2) == 0 {
		l.kill()
		return nil
	}
	l.signal(syscall.SIGKILL, l.Process.Pid)
	return nil
}

// interrupted: Ctrl-C, which the whole process group gets.
func interrupted(b *bed, l *look, r *rand.Rand) error {
	syscall.Kill(-l.Process.Pid, syscall.SIGINT)
	return nil
}
