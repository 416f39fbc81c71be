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
	"github.com/moonlap/moonlap/internal/sample"
)

// sampled is what became of one worker.
type sampled struct {
	pid      int
	series   sample.Series
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
	by, err := o.openWay(sys)
	if err != nil {
		return err
	}
	defer by.close()
	all, ended, err := o.sample(ctx, sys, pids, by)
	if err != nil {
		return err
	}
	out, errs := o.profileOf(all, by)
	if ended != nil {
		errs = append([]error{ended}, errs...)
	}
	timed := by.unit() != "" && len(out.PIDs) > 0 // so nothing is a result, too
	if out.Taken-out.Failed == 0 && !timed && (len(errs) > 0 || ctx.Err() != nil) {
		return errors.Join(append(errs, ctx.Err())...)
	}
	if out.Title = o.title; out.Title == "" {
		out.Title = o.who(pids) + ", " + o.mode.name
	}
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

// sample samples the workers, or the command, which may have ended badly.
func (o *profileOptions) sample(ctx context.Context, sys Sys, pids []int, by way) (all []sampled, ended, err error) {
	if o.command != nil {
		return sampleCommand(ctx, sys, *o, by)
	}
	return sampleAll(ctx, sys, pids, *o, by), nil, nil
}

// who is what was sampled, for a title.
func (o *profileOptions) who(pids []int) string {
	if o.command != nil {
		return exec.Join(o.command)
	}
	return "nginx " + plainPIDs(pids)
}

// profileOf is the document of what was sampled, and why some of it could not be.
func (o *profileOptions) profileOf(all []sampled, by way) (out *profile.Profile, errs []error) {
	var together sample.Series
	var observed evidence.Set
	var end time.Time
	var seen []int
	for _, l := range all {
		if l.err != nil {
			errs = append(errs, fmt.Errorf("%s %d: %w", o.each(), l.pid, l.err))
		}
		if l.series.Elapsed > 0 {
			seen = append(seen, l.pid)
			if e := l.series.Start.Add(l.series.Elapsed); e.After(end) {
				end = e
			}
		}
		together = together.And(l.series)
		observed = observed.Merge(l.evidence)
	}
	out, chosen := together.Profile(o.mode.name, by.unit())
	out.PIDs, out.Command, out.By, out.Note, out.Hz, out.Hold = seen, exec.Join(o.command), by.name(), by.note(), o.hz, o.pause
	out.Duration = end.Sub(together.Start)
	out.Evidence = observed.Merge(ofSamples(together, chosen))
	if o.command != nil && len(out.ByLabel("uri")) == 0 {
		out.Evidence[shares.Name].(*shares.Result).Requests = nil // it is no server
	}
	evidence.Put(out.Evidence, turns.Name, turns.Of(together, o.stalls))
	return out, errs
}

// ofSamples is the evidence that samples are: those chosen of all.
func ofSamples(all, chosen sample.Series) evidence.Set {
	set := evidence.Set{shares.Name: shares.Of(chosen)}
	evidence.Put(set, locks.InSamples, locks.WaitsOf(chosen))
	evidence.Put(set, regexes.Name, regexes.Of(chosen))
	evidence.Put(set, sleeps.Name, sleeps.Of(all))
	evidence.Put(set, compiler.Name, compiler.Of(chosen))
	return set
}
