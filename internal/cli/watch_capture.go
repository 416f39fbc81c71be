package cli

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/view/capture"
	"github.com/moonlap/moonlap/internal/view/profiles"
)

// captureOptions are the flags of watch --capture.
type captureOptions struct {
	folder      string // "": none are wanted
	when        []string
	conditions  []capture.Condition // what when says
	keep, after time.Duration
	pause       time.Duration
	limit, room int
	duration    time.Duration // 0: until Ctrl-C
	hz          float64
}

// usualConditions are those without --when: what stops a worker, as far as seeing it costs nothing to speak of.
var usualConditions = []string{"held>200ms", "sleep>200ms", "ended"}

func (o *captureOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.folder, "capture", "", "wait for rare events, and write them into `FOLDER`")
	f.StringArrayVar(&o.when, "when", usualConditions, "`CONDITION` of a capture, in quotes; any of several\nis enough")
	f.DurationVar(&o.keep, "keep", 10*time.Second, "time kept before an event")
	f.DurationVar(&o.after, "after", 2*time.Second, "time kept after an event")
	f.DurationVar(&o.pause, "pause", 30*time.Second, "least time between two captures")
	f.IntVar(&o.limit, "limit", 20, "end after this many captures")
	f.IntVar(&o.room, "room", 0, "while the folder holds `N` captures, only count\nevents; without --limit there is then none")
	f.DurationVar(&o.duration, "duration", 0, "end captures after this time; 0: with Ctrl-C, or\n--limit")
	f.Float64Var(&o.hz, "hz", 99, "samples of each worker in a second of its CPU\ntime, for captures")
}

// check reads the conditions.
func (o *captureOptions) check(f *pflag.FlagSet) error {
	if o.folder == "" {
		return nil
	}
	if o.room > 0 && !f.Changed("limit") {
		o.limit = math.MaxInt
	}
	for _, text := range o.when {
		c, err := capture.Parse(text)
		if err != nil {
			return usageErrorf("--when %w", err)
		}
		o.conditions = append(o.conditions, c)
		if long := time.Duration(c.Above); !f.Changed("hz") && (c.What == capture.Turn || c.What == capture.Held) {
			o.hz = max(o.hz, profiles.HzFor(long))
		}
	}
	return nil
}

func runCapture(ctx context.Context, sys Sys, o watchOptions) error {
	c := o.capture
	err := capture.Run(ctx, capture.Options{
		Choice: o.Choice, Folder: c.folder, Conditions: c.conditions, Keep: c.keep, After: c.after, Pause: c.pause, Limit: c.limit, Room: c.room,
		Duration: c.duration, Hz: c.hz, JSON: o.json, Stdout: sys.Stdout, Stderr: sys.Stderr, Now: sys.Now,
		Drawn: func() ui.Options { return reportOptions(sys) },
	})
	switch {
	case errors.Is(err, capture.ErrNone):
		return exitWith(ExitError, nil) // stderr has why
	case errors.Is(err, capture.ErrSome):
		return exitWith(ExitPartial, nil)
	case errors.Is(err, capture.ErrLeft):
		return exitWith(ExitPartial, err)
	}
	return err
}
