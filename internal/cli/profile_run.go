package cli

import (
	"context"
	"errors"

	"github.com/moonlap/moonlap/internal/doctor"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime/exec"
	"github.com/moonlap/moonlap/internal/view/profiles"
)

func runProfile(ctx context.Context, sys Sys, o profileOptions) (err error) {
	var pids []int
	if o.command == nil {
		if pids, err = o.Find(); err != nil {
			return err
		}
	}
	if o.out != "" && o.out != "-" && !o.continuous { // before the time is spent
		if err := writableFolder(o.out); err != nil {
			return err
		}
	}
	var baseline *profile.Profile
	if o.baseline != "" {
		if baseline, _, err = readProfile(ctx, sys, o.baseline, o.ofCase); err != nil {
			return err
		}
	}
	way, err := profiles.Open(o.Options, noting(sys))
	if err != nil {
		return err
	}
	defer way.Close()
	if o.continuous {
		return runContinuous(ctx, sys, &o, way)
	}
	if baseline != nil && way.Unit() != "" {
		return usageErrorf("--baseline compares samples, and %s is about time: with --by ptrace it has samples", o.Mode.Name)
	}
	all, ended, err := o.sample(ctx, sys, pids, way)
	if err != nil {
		return err
	}
	out, errs := way.Document(all, o.command)
	if ended != nil {
		errs = append([]error{ended}, errs...)
	}
	timed := way.Unit() != "" && len(out.PIDs) > 0 // so nothing is a result, too
	if out.Taken-out.Failed == 0 && !timed && (len(errs) > 0 || ctx.Err() != nil) {
		return errors.Join(append(errs, ctx.Err())...)
	}
	if out.Title = o.title; out.Title == "" {
		out.Title = o.who(pids) + ", " + o.Mode.Name
	}
	if baseline != nil {
		err = o.writeDiff(sys, baseline, out)
	} else {
		err = o.deliver(sys, out)
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case len(errs) > 0:
		return exitWith(ExitPartial, errors.Join(errs...))
	}
	return nil
}

// sample samples the workers, or the command, which may have ended badly.
func (o *profileOptions) sample(ctx context.Context, sys Sys, pids []int, way *profiles.Way) (all []profiles.Sampled, ended, err error) {
	p := newProgress(sys)
	defer p.Clear()
	if o.command == nil {
		return way.Workers(ctx, &o.Choice, pids, o.duration, p.Update), nil, nil
	}
	path, err := doctor.Program(o.command[0], sys.Getenv("PATH"))
	if err != nil {
		return nil, nil, err
	}
	return way.Command(ctx, profiles.Command{
		Args: o.command, Path: path, Duration: o.duration, Bounded: o.bounded, Stdin: sys.Stdin, Stderr: sys.Stderr,
	}, p.Update)
}

// who is what was sampled, for a title.
func (o *profileOptions) who(pids []int) string {
	if o.command != nil {
		return exec.Join(o.command)
	}
	return "nginx " + profiles.Name(pids)
}

// again writes a kept profile in another format, and draws its summary.
func (o *profileOptions) again(ctx context.Context, sys Sys, file string) error {
	p, _, err := readProfile(ctx, sys, file, o.ofCase)
	if err != nil {
		return err
	}
	if o.title != "" {
		p.Title = o.title
	}
	return o.deliver(sys, p)
}

// diffs compares two files instead of sampling workers.
func (o *profileOptions) diffs(ctx context.Context, sys Sys, before, after string) error {
	a, _, err := readProfile(ctx, sys, before, o.ofCase)
	if err != nil {
		return err
	}
	b, _, err := readProfile(ctx, sys, after, o.ofCase)
	if err != nil {
		return err
	}
	return o.writeDiff(sys, a, b)
}

// readProfile reads a profile, and the record that it is in; nil where it is in none.
func readProfile(ctx context.Context, sys Sys, file, ofCase string) (p *profile.Profile, rec *record.Record, err error) {
	_, err = awaited(ctx, sys, "reading "+file, func() (none struct{}, err error) {
		p, rec, err = profiles.Read(file, ofCase)
		return none, err
	})
	var many *profiles.ManyError
	if errors.As(err, &many) {
		err = usageError(err)
	}
	return p, rec, err
}
