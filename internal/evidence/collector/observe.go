package collector

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/worker"
)

// A Watch reads a worker's collector again and again, which neither stops the worker nor writes into it. Several may ask it at
// once.
type Watch struct {
	worker *worker.Worker
	vm     *luajit.VM
	seldom time.Duration // from one reading to the next, at most, as long as moonlap has a processor
	idle   time.Duration // the same while the worker does nothing

	lock sync.Mutex
	books
	taken Ledger // at the last take
	err   error  // of the last reading
}

// NewWatch prepares to read a worker's collector: at least that often, and less often while the worker does nothing.
func NewWatch(w *worker.Worker, seldom, idle time.Duration) *Watch {
	return &Watch{worker: w, vm: w.VM.At(w.Fresh()), seldom: seldom, idle: idle}
}

// Follow reads until what it returns is called, or ctx ends; that says what the collector did. What a cycle or a step was at goes on
// from one call to the next.
func (w *Watch) Follow(ctx context.Context) (end func() Collections) {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	return func() Collections {
		stop()
		running.Wait()
		w.Read()
		return w.take()
	}
}

// Run reads until ctx ends. It ends its thread.
func (w *Watch) Run(ctx context.Context) {
	runtime.LockOSThread()
	process.Hurry()
	for ctx.Err() == nil {
		w.Read()
		w.lock.Lock()
		pause := w.pause(w.seldom, w.idle)
		w.lock.Unlock()
		wait := unix.NsecToTimespec(pause.Nanoseconds())
		unix.Nanosleep(&wait, nil) // a timer of Go's would have to wake this thread from another one
	}
}

// Read reads the collector now, and returns what it has come to, the bytes in use, and when that was. Of a worker that has ended,
// the last ledger and bytes stay.
func (w *Watch) Read() (all Ledger, inUse uint64, at time.Duration) {
	w.lock.Lock()
	defer w.lock.Unlock()
	r := reading{At: probe.Now()}
	var err error
	if r.Used, err = w.worker.CPU(); err == nil {
		var state luajit.State
		if state, err = w.vm.State(); err == nil {
			r.Collecting = state == luajit.Collect
			r.GC, err = w.vm.GC()
		}
	}
	if w.err = err; err == nil {
		w.next(r)
	}
	return w.Ledger, w.last.InUse, r.At
}

// take returns what there was since the last take, and begins anew; cycles and steps go on.
func (w *Watch) take() Collections {
	w.lock.Lock()
	defer w.lock.Unlock()
	all := w.cycles.Collections
	all.Last = slices.Clone(all.Last)
	since := w.Ledger.Minus(w.taken)
	all.Allocated, all.Guessed = since.Bytes()
	if w.cycles.readings > 0 {
		all.Resolution = (all.Seen + all.Missed) / time.Duration(w.cycles.readings)
	}
	all.Err = w.err
	w.taken, w.cycles.readings = w.Ledger, 0
	w.cycles.Collections = Collections{}
	return all
}
