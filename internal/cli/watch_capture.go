package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/capture"
)

// captureOptions are the flags of watch --capture.
type captureOptions struct {
	folder      string // "": none are wanted
	when        []string
	conditions  []capture.Condition // what when says
	keep, after time.Duration
	pause       time.Duration
	limit       int
	duration    time.Duration // 0: until Ctrl-C
	hz          float64
}

// usualConditions are those without --when: what stops a worker, as far as seeing it costs nothing to speak of.
var usualConditions = []string{"held>200ms", "sleep>200ms", "ended"}

func (o *captureOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.folder, "capture", "", "wait for rare events, and write them into `FOLDER`")
	f.StringArrayVar(&o.when, "when", usualConditions, "`CONDITION` of a capture, in quotes; any of several\nis enough")
	f.DurationVar(&o.keep, "keep", 10*time.Second, "time before an event that is kept")
	f.DurationVar(&o.after, "after", 2*time.Second, "time after it that is kept")
	f.DurationVar(&o.pause, "pause", 30*time.Second, "least time between two captures")
	f.IntVar(&o.limit, "limit", 20, "end after this many captures")
	f.DurationVar(&o.duration, "duration", 0, "end captures after this time; 0: with Ctrl-C, or\n--limit")
	f.Float64Var(&o.hz, "hz", 99, "samples of each worker in a second of its CPU\ntime, for captures")
}

// check reads the conditions.
func (o *captureOptions) check(f *pflag.FlagSet) error {
	if o.folder == "" {
		return nil
	}
	for _, text := range o.when {
		c, err := capture.Parse(text)
		if err != nil {
			return usageErrorf("--when %w", err)
		}
		o.conditions = append(o.conditions, c)
		if long := time.Duration(c.Above); !f.Changed("hz") && (c.What == capture.Turn || c.What == capture.Held) {
			o.hz = max(o.hz, intoStalls(long))
		}
	}
	return nil
}

// intoFolder makes sure that captures can be written into the folder, which is made where it is missing.
func (o *captureOptions) intoFolder() error {
	if err := os.MkdirAll(o.folder, 0o700); err != nil {
		return fmt.Errorf("--capture: %w", err)
	}
	trial, err := os.MkdirTemp(o.folder, ".trial-")
	if err != nil {
		return fmt.Errorf("--capture: nothing can be written there: %w", err)
	}
	return os.Remove(trial)
}

// Why capturing ended by itself.
var (
	errLimit = errors.New("as many captures as --limit says")
	errTime  = errors.New("--duration is over")
)

func runCapture(ctx context.Context, sys Sys, o watchOptions) error {
	if _, err := o.Find(); err != nil {
		return err
	}
	c, err := newCapturer(sys, o)
	if err != nil {
		return err
	}
	defer c.sampler.Close()
	if err := o.capture.intoFolder(); err != nil {
		return err
	}
	during := ctx
	if d := o.capture.duration; d > 0 {
		var cancel context.CancelFunc
		during, cancel = context.WithTimeoutCause(ctx, d, errTime)
		defer cancel()
	}
	var stop context.CancelCauseFunc
	during, stop = context.WithCancelCause(during)
	defer stop(nil)
	c.stop = stop
	err = c.run(during)
	c.wait.Wait() // captures are written whole, also after Ctrl-C
	if c.seen > 0 && c.captures == 0 && len(c.errs) == 0 {
		c.say("%s", c.longest.Text())
	}
	if c.seen == 0 && len(c.errs) > 0 {
		return exitWith(ExitError, nil) // it was told why
	}
	switch cause := context.Cause(during); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(cause, errLimit), errors.Is(cause, errTime):
		err = nil
	}
	if err != nil || len(c.errs) > 0 {
		return exitWith(ExitPartial, err)
	}
	return nil
}
