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

// captureOptions are the flags of watch --capture. Without a Folder none are wanted.
type captureOptions struct {
	capture.Options
	when []string // what Conditions are read from
}

// usualConditions are those without --when: what stops a worker, as far as seeing it costs nothing to speak of.
var usualConditions = []string{"held>200ms", "sleep>200ms", "ended"}

func (o *captureOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Folder, "capture", "", "wait for rare events, and write them into `FOLDER`")
	f.StringArrayVar(&o.when, "when", usualConditions, "`CONDITION` of a capture, in quotes; any of several\nis enough")
	f.DurationVar(&o.Keep, "keep", 10*time.Second, "time kept before an event")
	f.DurationVar(&o.After, "after", 2*time.Second, "time kept after an event")
	f.DurationVar(&o.Pause, "pause", 30*time.Second, "least time between two captures")
	f.IntVar(&o.Limit, "limit", 20, "end after this many captures")
	f.IntVar(&o.Room, "room", 0, "while the folder holds `N` captures, only count\nevents; without --limit there is then none")
	f.DurationVar(&o.Duration, "duration", 0, "end captures after this time; 0: with Ctrl-C, or\n--limit")
	f.Float64Var(&o.Hz, "hz", 99, "samples of each worker in a second of its CPU\ntime, for captures")
}

// check reads the conditions.
func (o *captureOptions) check(f *pflag.FlagSet) error {
	if o.Folder == "" {
		return nil
	}
	if o.Room > 0 && !f.Changed("limit") {
		o.Limit = math.MaxInt
	}
	for _, text := range o.when {
		c, err := capture.Parse(text)
		if err != nil {
			return usageErrorf("--when %w", err)
		}
		o.Conditions = append(o.Conditions, c)
		if long := time.Duration(c.Above); !f.Changed("hz") && (c.What == capture.Turn || c.What == capture.Held) {
			o.Hz = max(o.Hz, profiles.HzFor(long))
		}
	}
	return nil
}

func runCapture(ctx context.Context, sys Sys, o watchOptions) error {
	c := o.capture.Options
	c.Choice, c.JSON, c.Stdout, c.Stderr, c.Now = o.Choice, o.json, sys.Stdout, sys.Stderr, sys.Now
	c.Drawn = func() ui.Options { return reportOptions(sys) }
	err := capture.Run(ctx, c)
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
