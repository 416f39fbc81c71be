package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
)

// diffs compares two files instead of looking at workers.
func (o *profileOptions) diffs(ctx context.Context, sys Sys, before, after string) error {
	a, err := o.read(ctx, sys, before)
	if err != nil {
		return err
	}
	b, err := o.read(ctx, sys, after)
	if err != nil {
		return err
	}
	return o.writeDiff(sys, a, b)
}

// writeDiff writes how two profiles differ to the file, and draws it.
func (o *profileOptions) writeDiff(sys Sys, before, after *profile.Profile) error {
	if before.Mode != after.Mode && before.Mode != "" && after.Mode != "" {
		return fmt.Errorf("one profile is %s, the other %s: they count different things", before.Mode, after.Mode)
	}
	if before.By != after.By && before.By != "" && after.By != "" {
		return fmt.Errorf("one profile was sampled by %s, the other by %s, and only one of these sees the kernel: "+
			"take both with the same --by", before.By, after.By)
	}
	for _, p := range []*profile.Profile{before, after} {
		if p.Unit == profile.Time {
			return fmt.Errorf("%q is about time, and differences compare samples: those of --on-cpu, or with --by ptrace", p.Title)
		}
		if p.Total() == 0 {
			return fmt.Errorf("%q has no samples: there is nothing to compare", p.Title)
		}
	}
	if before.Unit == profile.Bytes || after.Unit == profile.Bytes {
		return errors.New("a profile of memory is none of time")
	}
	d := &profile.Diff{Title: o.title, Before: before, After: after, Lines: o.lines}
	if d.Title == "" {
		d.Title = before.Title + " → " + after.Title
	}
	if o.out != "" {
		var b bytes.Buffer
		if err := report.ProfileDiff(&b, d, "", besideGraph); err != nil {
			return err
		}
		d.Report = b.String()
		b.Reset()
		if err := d.Write(&b, o.format, record.Schema); err != nil {
			return err
		}
		if err := o.put(sys, b.Bytes()); err != nil {
			return err
		}
	}
	if o.out == "-" {
		return nil
	}
	return report.ProfileDiff(sys.Stdout, d, o.out, reportOptions(sys))
}
