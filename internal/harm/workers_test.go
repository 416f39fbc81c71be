package harm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"

	"github.com/moonlap/moonlap/internal/process"
)

// workerKilled: one of the workers ends while it is looked at. nginx starts another.
func workerKilled(b *bed, l *look, r *rand.Rand) error {
	pids := b.workers()
	pid := pids[r.IntN(len(pids))]
	b.load.ends(dies, pid)
	syscall.Kill(pid, syscall.SIGKILL)
	err := awaited(func() error {
		if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err == nil {
			return errors.New("a worker does not end")
		}
		return nil
	})
	return errors.Join(err, awaited(b.healthy), b.replaced())
}

// replaced says that the workers there are now are the ones to keep.
func (b *bed) replaced() error {
	b.pids = b.workers()
	b.load.calm()
	return nil
}

// reloaded: nginx starts new workers, and the old ones end when they have nothing more to do.
func reloaded(b *bed, l *look, r *rand.Rand) error {
	old := b.workers()
	b.load.ends(leaves, old...)
	syscall.Kill(b.master, syscall.SIGHUP)
	err := awaited(func() error { return b.gone(old) })
	return errors.Join(err, awaited(b.healthy), b.replaced())
}

// gone tells which of some workers still are.
func (b *bed) gone(old []int) error {
	for _, pid := range old {
		if title := (&process.Process{PID: pid}).Title(); title != "" {
			return fmt.Errorf("worker %d still is: %s", pid, title)
		}
	}
	return nil
}
