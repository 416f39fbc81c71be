package harm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/process"
)

// debugged: a debugger holds all of moonlap's processes, or some. The workers must go on meanwhile.
func debugged(b *bed, l *look, r *rand.Rand) error {
	pids := l.some(r)
	release := debug(pids...)
	err := awaited(func() error { return held(pids...) })
	if err == nil {
		err = b.goesOn()
	}
	release()
	return err
}

// debug has a thread of this program trace all threads of some processes and stop them, as a debugger does, until release is
// called. The kernel lets go whatever a thread traced that has ended, with the signals that came meanwhile.
func debug(pids ...int) (release func()) {
	holding, over := make(chan struct{}), make(chan struct{})
	go onThread(func() {
		held := map[int]bool{}
		for more := true; more; { // a thread may start others until it is stopped
			more = false
			for _, pid := range pids {
				for _, thread := range threads(pid) {
					if !held[thread] && unix.PtraceSeize(thread) == nil {
						held[thread], more = true, true
						unix.PtraceInterrupt(thread)
					}
				}
			}
		}
		close(holding)
		<-over
	})
	<-holding
	return func() { close(over) }
}

// onThread runs work on a thread that ends with its goroutine. The main thread never does.
func onThread(work func()) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		go onThread(work)
		time.Sleep(time.Second) // meanwhile it gets another one
		runtime.UnlockOSThread()
		return
	}
	work()
}

func threads(pid int) (ids []int) {
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	for _, name := range names {
		id, _ := strconv.Atoi(filepath.Base(name))
		ids = append(ids, id)
	}
	return ids
}

// held tells which of some processes a debugger does not hold: a thread runs.
func held(pids ...int) error {
	for _, pid := range pids {
		for _, thread := range threads(pid) {
			if s, err := (&process.Process{PID: thread}).Stat(); err == nil && s.State != 't' && s.State != 'T' && !s.Ended() {
				return fmt.Errorf("thread %d of moonlap's process %d is in state %c", thread, pid, s.State)
			}
		}
	}
	return nil
}

// workerDebugged: somebody else traces a worker already, and lets it run. Moonlap says whose it is, or needs no stop.
func workerDebugged(b *bed, l *look, r *rand.Rand) error {
	pids := b.workers()
	pid := pids[r.IntN(len(pids))]
	traced, over, ended := make(chan error, 1), make(chan struct{}), make(chan struct{})
	go onThread(func() {
		defer close(ended)
		err := unix.PtraceSeize(pid)
		for end := time.Now().Add(patience); err == unix.EPERM && time.Now().Before(end); err = unix.PtraceSeize(pid) { // moonlap may hold it
			time.Sleep(100 * time.Microsecond)
		}
		if traced <- err; err != nil {
			return
		}
		for { // it gets its signals
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
			}
			var status unix.WaitStatus
			if n, err := unix.Wait4(pid, &status, unix.WNOHANG|unix.WALL, nil); err == nil && n == pid && status.Stopped() {
				unix.PtraceCont(pid, int(status.StopSignal()))
			}
		}
	})
	if err := <-traced; err != nil {
		return fmt.Errorf("trace worker %d: %w", pid, err)
	}
	second := b.look(commands[r.IntN(len(commands))].line) // it begins when the worker is traced
	err := l.finish()
	if e := second.finish(); err == nil {
		err = e
	}
	if err == nil && second.ProcessState.ExitCode() != 0 {
		err = second.exits(second.ProcessState.ExitCode(), fmt.Sprintf("already traced, by process %d: a debugger", os.Getpid()))
	}
	close(over)
	<-ended
	return err
}

// some are those processes of moonlap's that an accident hits: all, only the first, or all others, which hold workers.
func (l *look) some(r *rand.Rand) []int {
	pids := l.known
	switch r.IntN(3) {
	case 0:
		pids = []int{l.Process.Pid}
	case 1:
		pids = pids[min(1, len(pids)):]
	}
	return pids
}
