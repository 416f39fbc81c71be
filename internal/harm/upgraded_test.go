package harm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/moonlap/moonlap/internal/process"
)

// upgraded: USR2 has nginx start its program anew beside the old one, which then goes.
func upgraded(b *bed, l *look, _ *rand.Rand) error {
	old, workers := b.master, b.workers()
	b.load.ends(leaves, workers...)
	syscall.Kill(old, syscall.SIGUSR2)
	err := awaited(func() error {
		text, err := os.ReadFile(filepath.Join(b.folder, "pid"))
		if pid, _ := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || pid == old || pid == 0 {
			return fmt.Errorf("no new master beside %d: %v", old, err)
		}
		return b.readMaster()
	})
	if err == nil {
		err = awaited(b.healthy)
	}
	syscall.Kill(old, syscall.SIGQUIT)
	err = errors.Join(err, awaited(func() error { return b.gone(append(workers, old)) }))
	return errors.Join(err, b.replaced())
}

// forked: a worker starts other processes, as os.execute does.
func forked(b *bed, l *look, r *rand.Rand) error {
	b.load.path.Store("/fork")
	defer b.load.path.Store("/")
	return l.finish()
}

// workerStopped: a worker was stopped by somebody else, and is let go by them alone.
func workerStopped(b *bed, l *look, r *rand.Rand) error {
	pids := b.workers()
	pid := pids[r.IntN(len(pids))]
	syscall.Kill(pid, syscall.SIGSTOP)
	defer syscall.Kill(pid, syscall.SIGCONT)
	return awaited(func() error {
		s, err := (&process.Process{PID: pid}).Stat()
		if err == nil && s.State != 'T' && !l.stay(0) {
			return fmt.Errorf("worker %d was stopped, and is in state %c", pid, s.State)
		}
		return err
	})
}
