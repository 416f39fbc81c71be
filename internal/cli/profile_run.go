package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/allocations"
	"github.com/moonlap/moonlap/internal/evidence/compiler"
	"github.com/moonlap/moonlap/internal/evidence/resumes"
	"github.com/moonlap/moonlap/internal/evidence/sleeps"
	"github.com/moonlap/moonlap/internal/evidence/turns"
	"github.com/moonlap/moonlap/internal/explain"
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
		if pids, err = o.find(); err != nil {
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
	out := &profile.Profile{Title: o.title, Unit: by.unit(), Moments: o.which(), Evidence: evidence.Set{}}
	if out.Title == "" {
		out.Title = who + ", " + o.which()
		if o.command == nil {
			out.Title = "nginx " + out.Title
		}
	}
	var together worker.Looks
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
		out.Evidence = out.Evidence.Merge(l.evidence)
	}
	if len(together.Samples) == 0 && !((together.Timed || together.Allocations != nil) && len(seen) > 0) && (len(errs) > 0 || ctx.Err() != nil) {
		return errors.Join(append(errs, ctx.Err())...)
	}
	chosen := together.Only(o.which())
	out.Start, out.Duration = together.Start, end.Sub(together.Start)
	out.By, out.Failed, out.Lost = by.name(), together.Failed, together.Lost
	out.Period = together.Period()
	shares := explain.Shares(chosen)
	out.Evidence = out.Evidence.Merge(shares.Evidence)
	chosen.AddTo(out)
	out.Merge()
	evidence.Put(out.Evidence, sleeps.Name, sleeps.Of(together))
	evidence.Put(out.Evidence, turns.Name, turns.Of(together, o.stalls))
	evidence.Put(out.Evidence, compiler.Name, compiler.Of(chosen))
	evidence.Put(out.Evidence, resumes.Name, resumes.Of(together.Resumes))
	evidence.Put(out.Evidence, allocations.Name, allocations.Of(chosen, out.Duration, worker.Of))
	if baseline != nil {
		if err := o.writeDiff(sys, baseline, out); err != nil {
			return err
		}
	} else if err := o.write(sys, out); err != nil {
		return err
	}
	if o.out != "-" && baseline == nil {
		if o.command != nil && len(out.ByLabel("uri")) == 0 {
			shares.Requests = nil // it is no server
		}
		cut, left := together.Cut()
		summary := report.Profile{
			PIDs: seen, Command: exec.Join(o.command), Which: o.which(), By: by.name(), Note: by.note(), File: o.out, Duration: out.Duration, Hz: o.hz, Pause: o.pause,
			Looks: len(together.Samples) + together.Failed, Lost: together.Lost, Looked: together.Elapsed, Paused: together.Paused, Cut: cut, LeftOut: left, Used: together.Used,
			Explanation: shares, Evidence: out.Evidence,
		}
		if err := summary.Write(sys.Stdout, reportOptions(sys)); err != nil {
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
