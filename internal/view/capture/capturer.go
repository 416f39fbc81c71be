package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/worker"
)

// Options say which events are captured, and where they are written.
type Options struct {
	follow.Choice
	Folder      string
	Conditions  []Condition
	Keep, After time.Duration // that is kept, around an event
	Pause       time.Duration // between two captures, at least
	Limit       int           // of captures
	Room        int           // for captures in Folder, those of earlier runs included; 0: no end of it
	Duration    time.Duration // 0: until the context ends
	Hz          float64       // samples a second of CPU time
	JSON        bool          // each capture is a line of JSON

	Stdout, Stderr io.Writer
	Drawn          func() ui.Options // how it is drawn for people
	Now            func() time.Time
}

// Why Run ends, beside its context, the limit and Duration, which are no errors. What failed before has been said on stderr.
var (
	ErrNone = errors.New("no worker could be watched")
	ErrSome = errors.New("some workers could not be watched, or captures not be written")
	ErrLeft = errors.New("no worker is left")
)

// errEnough is why capturing ends by itself: after a time, or a number of captures.
var errEnough = errors.New("enough")

// Run waits for events at workers, those of reloads included, and writes captures.
func Run(ctx context.Context, o Options) error {
	if _, err := o.Find(); err != nil {
		return err
	}
	sampler, err := sample.NewSampler()
	if err != nil {
		return fmt.Errorf("%w. --capture takes eBPF: samples that stop a worker would have to be taken all the time", err)
	}
	defer sampler.Close()
	if err := o.intoFolder(); err != nil {
		return err
	}
	during, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if o.Duration > 0 {
		defer time.AfterFunc(o.Duration, func() { stop(errEnough) }).Stop()
	}
	c := &capturer{Options: o, sampler: sampler, gate: &gate{Pause: o.Pause, Limit: o.Limit}, stop: stop}
	c.gate.Full = c.full
	c.run(during)
	c.wait.Wait() // captures are written whole, also after Ctrl-C
	if c.seen > 0 && c.captures == 0 && len(c.errs) == 0 {
		c.say("%s", c.longest.Text())
	}
	switch {
	case c.seen == 0 && len(c.errs) > 0:
		return ErrNone
	case ctx.Err() != nil:
		return ctx.Err()
	case during.Err() == nil:
		return ErrLeft
	case len(c.errs) > 0:
		return ErrSome
	}
	return nil
}

// intoFolder makes sure that captures can be written into the folder, which is made where it is missing.
func (o *Options) intoFolder() error {
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return fmt.Errorf("--capture: %w", err)
	}
	trial, err := os.MkdirTemp(o.Folder, ".trial-")
	if err != nil {
		return fmt.Errorf("--capture: nothing can be written there: %w", err)
	}
	return os.Remove(trial)
}

// A capturer waits for events at workers, and writes captures.
type capturer struct {
	Options
	sampler *sample.Sampler
	gate    *gate
	stop    context.CancelCauseFunc
	wait    sync.WaitGroup
	wasFull bool // the folder was

	lock     sync.Mutex // of what follows, and of stdout and stderr
	seen     int        // workers that could be watched
	captures int
	longest  longest
	errs     []error
}

// say reports something while it runs.
func (c *capturer) say(format string, args ...any) {
	c.lock.Lock()
	defer c.lock.Unlock()
	fmt.Fprintf(c.Stderr, "moonlap watch: %s\n", ui.Harmless(fmt.Sprintf(format, args...)))
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
func (c *capturer) run(ctx context.Context) {
	c.say("captures of %s go into %s; Ctrl-C ends", c.conditions(), c.Folder)
	failed := func(pid int, err error) { c.fail(fmt.Errorf("worker %d: %w", pid, err)) }
	f := follow.Follower{Find: c.Find, Expects: c.Expects, Open: worker.Open, Patience: 5 * time.Second, Failed: failed}
	f.Observe = func(ctx context.Context, w *worker.Worker) error {
		err := c.watch(ctx, w)
		if err != nil {
			failed(w.PID, err)
			return err
		}
		return worker.ErrEnded // or ctx has
	}
	f.Run(ctx)
}

func (c *capturer) conditions() string {
	var all []string
	for _, one := range c.Conditions {
		all = append(all, one.String())
	}
	return strings.Join(all, ", ")
}

// watch waits for events at a worker until it ends, or ctx does.
func (c *capturer) watch(ctx context.Context, w *worker.Worker) error {
	c.lock.Lock()
	c.seen++
	c.lock.Unlock()
	o := newLookout(c.Conditions)
	o.Keep, o.After, o.Gate = c.Keep, c.After, c.gate
	o.Heap = func() (uint64, error) {
		gc, err := w.VM.GC()
		return gc.InUse, err
	}
	o.InFlight = w.InFlight
	o.Noticed = func(e event) { c.say("worker %d: %s", w.PID, e.Text()) }
	o.Captured = func(p pending, t *sample.Tail) {
		c.wait.Go(func() { c.write(newCapture(w.PID, o.Keep, p, t)) })
	}
	defer func() {
		c.lock.Lock()
		defer c.lock.Unlock()
		c.longest.Merge(o.Longest())
	}()
	said := false
	return sample.Of(w).Tail(ctx, c.sampler, o.Wants(c.Hz), o.Span(), func(t *sample.Tail) {
		if !said {
			said = true
			c.say("waiting at worker %d", w.PID)
		}
		o.Look(t, c.Now())
	})
}

// write writes a capture, and reports it.
func (c *capturer) write(one *Capture) {
	one.Missed = c.gate.Missed()
	err := one.Write(c.Folder)
	if err != nil {
		c.gate.Failed()
		c.fail(err)
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.JSON {
		err = one.WriteLine(c.Stdout)
	} else {
		_, err = io.WriteString(c.Stdout, one.Short(c.Drawn())+"\n")
	}
	if err != nil { // nobody reads it any more
		c.errs = append(c.errs, err)
		c.stop(err)
	}
	if c.captures++; c.captures >= c.Limit {
		c.stop(errEnough)
	}
}
