package worker

import (
	"context"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
)

// A collectorWatch reads a worker's collector again and again, which neither stops the worker nor writes into it. Several may
// ask it at once.
type collectorWatch struct {
	worker *Worker
	vm     *luajit.VM
	seldom time.Duration // from one reading to the next, at most, as long as moonlap has a processor
	idle   time.Duration // the same while the worker does nothing

	lock sync.Mutex
	collector
	taken Ledger // at the last take
	err   error  // of the last reading
}

func (w *Worker) watchCollector(seldom, idle time.Duration) *collectorWatch {
	return &collectorWatch{worker: w, vm: w.VM.At(w.Fresh()), seldom: seldom, idle: idle}
}

// followCollector reads the collector until ctx ends or what it returns is called, which tells what was seen. What a cycle or
// a step was at goes on from one call to the next.
func (w *Worker) followCollector(ctx context.Context, seen *Collections) (end func()) {
	if w.collector == nil {
		w.collector = w.watchCollector(2*time.Millisecond, 8*time.Millisecond)
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.collector.run(ctx)
	}()
	return func() {
		stop()
		<-ended
		w.collector.read()
		*seen = w.collector.take()
	}
}

// run reads until ctx ends. It ends its thread.
func (c *collectorWatch) run(ctx context.Context) {
	runtime.LockOSThread()
	process.Hurry()
	for ctx.Err() == nil {
		c.read()
		c.lock.Lock()
		pause := c.pause(c.seldom, c.idle)
		c.lock.Unlock()
		wait := unix.NsecToTimespec(pause.Nanoseconds())
		unix.Nanosleep(&wait, nil) // a timer of Go's would have to wake this thread from another one
	}
}

// read reads the collector now, and returns what it has come to, and when. In a worker that has ended, that stays.
func (c *collectorWatch) read() (Ledger, time.Duration) {
	c.lock.Lock()
	defer c.lock.Unlock()
	r := collectorReading{At: probe.Now()}
	var err error
	if r.Used, err = c.worker.CPU(); err == nil {
		var state luajit.State
		if state, err = c.vm.State(); err == nil {
			r.Collecting = state == luajit.Collect
			r.GC, err = c.vm.GC()
		}
	}
	if c.err = err; err == nil {
		c.collector.next(r)
	}
	return c.Ledger, r.At
}
