package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/capture"
	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/worker"
)

// A capturer waits for events at workers, those of reloads included, and writes captures.
type capturer struct {
	sys     Sys
	o       watchOptions
	sampler *sample.Sampler
	gate    *capture.Gate
	stop    context.CancelCauseFunc
	wait    sync.WaitGroup

	lock     sync.Mutex // of what follows, and of stdout and stderr
	seen     int        // workers that could be watched
	captures int
	longest  capture.Longest
	errs     []error
}

func newCapturer(sys Sys, o watchOptions) (*capturer, error) {
	sampler, err := sample.NewSampler()
	if err != nil {
		return nil, fmt.Errorf("%w. --capture takes eBPF: samples that stop a worker would have to be taken all the time", err)
	}
	return &capturer{
		sys: sys, o: o, sampler: sampler, gate: &capture.Gate{Pause: o.capture.pause, Limit: o.capture.limit},
	}, nil
}

// say tells people something while it runs.
func (c *capturer) say(format string, args ...any) {
	c.lock.Lock()
	defer c.lock.Unlock()
	fmt.Fprintf(c.sys.Stderr, "moonlap watch: %s\n", ui.Harmless(fmt.Sprintf(format, args...)))
}

// fail takes notice of what could not be done, and goes on.
func (c *capturer) fail(err error) {
	c.say("%v", err)
	c.lock.Lock()
	defer c.lock.Unlock()
	const most = 100 // of a disk that stays full
	if len(c.errs) < most {
		c.errs = append(c.errs, err)
	}
}

// run watches the workers and those that come, until ctx ends or there are none to wait for.
func (c *capturer) run(ctx context.Context) error {
	c.say("captures of %s go into %s; Ctrl-C ends", c.conditions(), c.o.capture.folder)
	failed := func(pid int, err error) { c.fail(fmt.Errorf("worker %d: %w", pid, err)) }
	f := follow.Follower{Find: c.o.Find, Expects: c.o.Expects, Open: worker.Open, Patience: 5 * time.Second, Failed: failed}
	f.Observe = func(ctx context.Context, w *worker.Worker) error {
		err := c.watch(ctx, w)
		if err != nil {
			failed(w.PID, err)
			return err
		}
		return worker.ErrEnded // or ctx has
	}
	f.Run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return errors.New("no worker is left")
}

func (c *capturer) conditions() string {
	var all []string
	for _, one := range c.o.capture.conditions {
		all = append(all, one.String())
	}
	return strings.Join(all, ", ")
}

func runs(pid int) bool { return !(&process.Process{PID: pid}).Ended() }

// watch waits for events at a worker until it ends, or ctx does.
func (c *capturer) watch(ctx context.Context, w *worker.Worker) error {
	c.lock.Lock()
	c.seen++
	c.lock.Unlock()
	o := capture.NewLookout(c.o.capture.conditions)
	o.Keep, o.After, o.Gate = c.o.capture.keep, c.o.capture.after, c.gate
	o.Heap = func() (uint64, error) {
		gc, err := w.VM.GC()
		return gc.InUse, err
	}
	o.InFlight = w.InFlight
	o.Noticed = func(e capture.Event) { c.say("worker %d: %s", w.PID, e.Text()) }
	o.Captured = func(p capture.Pending, t *sample.Tail) {
		c.wait.Go(func() { c.write(capture.New(w.PID, o.Keep, p, t)) })
	}
	defer func() {
		c.lock.Lock()
		defer c.lock.Unlock()
		c.longest.Merge(o.Longest())
	}()
	said := false
	return sample.Of(w).Tail(ctx, c.sampler, o.Wants(c.o.capture.hz), o.Span(), func(t *sample.Tail) {
		if !said {
			said = true
			c.say("waiting at worker %d", w.PID)
		}
		o.Look(t, c.sys.Now())
	})
}

// write writes a capture, and tells of it.
func (c *capturer) write(one *capture.Capture) {
	one.Missed = c.gate.Missed()
	err := one.Write(c.o.capture.folder, record.Schema)
	if err != nil {
		c.gate.Failed()
		c.fail(err)
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.o.json {
		err = one.WriteLine(c.sys.Stdout, record.Schema)
	} else {
		_, err = io.WriteString(c.sys.Stdout, one.Short(reportOptions(c.sys))+"\n")
	}
	if err != nil { // nobody reads it any more
		c.errs = append(c.errs, err)
		c.stop(err)
	}
	if c.captures++; c.captures >= c.o.capture.limit {
		c.stop(errLimit)
	}
}
