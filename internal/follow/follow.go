package follow

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/worker"
)

// A Follower opens processes as they come, and has each of them observed.
type Follower struct {
	Find    func() ([]int, error) // those there are now; with an error there are none, but others may come
	Expects func() bool           // others may come
	Every   func() time.Duration  // until Find is asked again; nil: 200 ms
	// Round, where it is set, takes that time, with what Find has found. Following ends where it returns false.
	Round func(ctx context.Context, found []int, err error) bool
	Open  func(pid int) (*worker.Worker, error)
	// Patience is how long a process may take to be ready that has come since Run began. Those that were there before are, unless
	// Young says that none may be.
	Patience time.Duration
	Young    bool

	// Observe observes a worker until that ends, which is worker.ErrEnded, or ctx does. Several are observed at once.
	Observe func(ctx context.Context, w *worker.Worker) error
	Failed  func(pid int, err error) // a process that runs cannot be opened

	running sync.WaitGroup
	lock    sync.Mutex // of what follows
	known   map[int]bool
	active  int
	opened  int
	refused int
}

// Run follows until ctx ends, or no process is left and no other is expected: which is so, too, where none could be opened. It
// returns when all have been observed.
func (f *Follower) Run(ctx context.Context) { f.RunUntil(ctx, ctx) }

// RunUntil is Run, but opens no others once finding has ended.
func (f *Follower) RunUntil(ctx, finding context.Context) {
	f.known = map[int]bool{}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer f.running.Wait()
	for first := true; finding.Err() == nil; first = false {
		pids, err := f.Find()
		for _, pid := range pids {
			f.begin(ctx, pid, f.Young || !first)
		}
		if f.Round != nil {
			if !f.Round(finding, pids, err) {
				stop()
				return
			}
			continue
		}
		every := 200 * time.Millisecond
		if f.Every != nil {
			every = f.Every()
		}
		if !f.goesOn() {
			return
		}
		select {
		case <-finding.Done():
		case <-time.After(every):
		}
	}
}

// goesOn reports whether there is a process, or another one may come.
func (f *Follower) goesOn() bool {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.active > 0 || (f.opened > 0 || f.refused == 0) && f.Expects()
}

// begin begins to observe a process, once.
func (f *Follower) begin(ctx context.Context, pid int, young bool) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.known[pid] {
		return
	}
	f.known[pid] = true
	f.active++
	f.running.Go(func() {
		ended := f.observe(ctx, pid, young)
		f.lock.Lock()
		defer f.lock.Unlock()
		if f.active--; ended && f.Expects() {
			delete(f.known, pid) // its number may come again
		}
	})
}

// observe observes a process, and, where another program comes to run in it, that one. It reports whether the process has ended.
func (f *Follower) observe(ctx context.Context, pid int, young bool) (ended bool) {
	for again := false; ctx.Err() == nil; again = true {
		patience := time.Duration(0)
		if young || again {
			patience = f.Patience
		}
		w, err := await(ctx, f.Open, pid, patience)
		switch gone := (&process.Process{PID: pid}).Ended(); {
		case err == nil:
		case ctx.Err() != nil || gone && (again || f.Expects()): // it ended while it was opened, as in a reload
			return gone
		default:
			f.lock.Lock()
			f.refused++
			f.lock.Unlock()
			f.Failed(pid, err)
			return gone
		}
		f.lock.Lock()
		f.opened++
		f.lock.Unlock()
		err = f.Observe(ctx, w)
		w.Close()
		if !errors.Is(err, worker.ErrEnded) {
			return false
		}
	}
	return false
}

// await opens a process as soon as that can be opened, within a patience: it may be starting, load LuaJIT late, or run another
// program next.
func await(ctx context.Context, open func(int) (*worker.Worker, error), pid int, patience time.Duration) (*worker.Worker, error) {
	const longest = 500 * time.Millisecond
	began := time.Now()
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, longest) {
		w, err := open(pid)
		if err == nil || time.Since(began)+pause > patience || (&process.Process{PID: pid}).Ended() {
			return w, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}
