package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/compiler"
	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/evidence/regexes"
	"github.com/moonlap/moonlap/internal/evidence/shares"
	"github.com/moonlap/moonlap/internal/evidence/sleeps"
	"github.com/moonlap/moonlap/internal/evidence/turns"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/runtime/exec"
	"github.com/moonlap/moonlap/internal/worker"
)

// looked is what became of one worker.
type looked struct {
	pid      int
	looks    worker.Looks
	evidence evidence.Set // that was asked for besides
	err      error
}

func runProfile(ctx context.Context, sys Sys, o profileOptions) error {
	var pids []int
	var err error
	if o.command == nil {
		if pids, err = o.Find(); err != nil {
			return err
		}
	}
	if o.out != "" && o.out != "-" { // before the time is spent
		if err := writableFolder(o.out); err != nil {
			return err
		}
	}
	var baseline *profile.Profile
	if o.baseline != "" {
		if baseline, err = o.read(ctx, sys, o.baseline); err != nil {
			return err
		}
	}
	by, err := o.openLooker(sys)
	if err != nil {
		return err
	}
	defer by.close()
	var all []looked
	var errs []error
	who := plainPIDs(pids)
	if o.command != nil {
		who = exec.Join(o.command)
		var ended error
		if all, ended, err = lookAtCommand(ctx, sys, o, by); err != nil {
			return err
		}
		if ended != nil {
			errs = append(errs, ended)
		}
	} else {
		all = lookAtAll(ctx, sys, pids, o, by)
	}
	var together worker.Looks
	var observed evidence.Set
	var end time.Time
	var seen []int
	for _, l := range all {
		if l.err != nil {
			errs = append(errs, fmt.Errorf("%s %d: %w", o.each(), l.pid, l.err))
		}
		if l.looks.Elapsed > 0 {
			seen = append(seen, l.pid)
			if e := l.looks.Start.Add(l.looks.Elapsed); e.After(end) {
				end = e
			}
		}
		together = together.And(l.looks)
		observed = observed.Merge(l.evidence)
	}
	if len(together.Samples) == 0 && !((together.Timed || o.mode.kind != nil) && len(seen) > 0) && (len(errs) > 0 || ctx.Err() != nil) {
		return errors.Join(append(errs, ctx.Err())...)
	}
	out, chosen := together.Profile(o.mode.name, by.unit())
	if out.Title = o.title; out.Title == "" {
		out.Title = who + ", " + o.mode.name
		if o.command == nil {
			out.Title = "nginx " + out.Title
		}
	}
	out.PIDs, out.Command, out.By, out.Note, out.Hz, out.Hold = seen, exec.Join(o.command), by.name(), by.note(), o.hz, o.pause
	out.Duration = end.Sub(together.Start)
	parts := shares.Of(chosen)
	if o.command != nil && len(out.ByLabel("uri")) == 0 {
		parts.Requests = nil // it is no server
	}
	out.Evidence = observed.Merge(evidence.Set{shares.Name: parts})
	evidence.Put(out.Evidence, locks.InSamples, locks.WaitsOf(chosen))
	evidence.Put(out.Evidence, regexes.Name, regexes.Of(chosen))
	evidence.Put(out.Evidence, sleeps.Name, sleeps.Of(together))
	evidence.Put(out.Evidence, turns.Name, turns.Of(together, o.stalls))
	evidence.Put(out.Evidence, compiler.Name, compiler.Of(chosen))
	if baseline != nil {
		if err := o.writeDiff(sys, baseline, out); err != nil {
			return err
		}
	} else if err := o.write(sys, out); err != nil {
		return err
	}
	if o.out != "-" && baseline == nil {
		if err := report.Profile(sys.Stdout, out, o.out, reportOptions(sys)); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case len(errs) > 0:
		return exitWith(ExitPartial, errors.Join(errs...))
	}
	return nil
}
