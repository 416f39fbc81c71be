package harm

import (
	"math/rand/v2"
	"syscall"
	"time"
)

// stopped: SIGSTOP, which nobody can catch, to all of moonlap's processes or to some. The workers must go on meanwhile.
func stopped(b *bed, l *look, r *rand.Rand) error {
	pids := l.some(r)
	l.signal(syscall.SIGSTOP, pids...)
	err := b.goesOn()
	l.signal(syscall.SIGCONT, pids...)
	return err
}

// goesOn tells why workers do not go on, or are touched, while moonlap cannot do anything for them.
func (b *bed) goesOn() error {
	time.Sleep(50 * time.Millisecond) // a look that has just begun is over
	answered := b.load.answered()
	if err := awaited(b.healthy); err != nil {
		return err
	}
	if err := awaited(func() error { return more(b.load.answered(), answered+2*clients) }); err != nil {
		return err
	}
	return awaited(b.untouched)
}
