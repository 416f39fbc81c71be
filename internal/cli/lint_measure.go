package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/bench"
	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/lint"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/ui"
)

// measure takes the prices of the rules, one after the other, and keeps each at once.
func (l *linting) measure(ctx context.Context, sys Sys, o lintOptions) error {
	line := newProgress(sys)
	measuring := lint.Measuring{
		Processes: o.processes, Runs: o.runs, VM: l.vm, Machine: l.machine, CPU: runtime.Environment("").CPU, Now: sys.Now,
		Load: func(ctx context.Context, good, bad string) (lint.Loaded, error) {
			return l.comparePair(ctx, sys, o, good, bad)
		},
		Open: func(ctx context.Context, file string) (bench.Options, error) { return openPair(ctx, sys, o, file) },
		Progress: func(rule string, p bench.Progress) {
			line.Update(fmt.Sprintf("%s, round %d", rule, p.Round), p.Elapsed, p.Left)
		},
	}
	measured, failed, kept := lint.Prices{}, 0, ""
	for _, r := range l.on(o) {
		price, err := measuring.Measure(ctx, r)
		line.Clear()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failed++
			fmt.Fprintf(sys.Stderr, "moonlap: %s\n", ui.Harmless(err.Error()))
			continue
		case price == nil:
			continue
		}
		measured[r.Name] = price
		if kept, err = lint.KeepPrices(l.vm, l.machine, measured); err != nil {
			return err
		}
		p := ui.NewPage(reportOptions(sys))
		p.Line(fmt.Sprintf("%-20s %s%s", r.Name, price.Text(p.Glyphs, sys.Now()), spread(p.Glyphs, price.Runs)))
		if err := p.Write(sys.Stdout); err != nil {
			return err
		}
	}
	if o.out != "" {
		text, err := measured.Text()
		if err != nil {
			return err
		}
		if err := files.Write(o.out, text, 0o644); err != nil {
			return err
		}
	}
	switch {
	case len(measured) == 0 && failed == 0:
		return errors.New("none of these rules has a pair to measure")
	case len(measured) == 0:
		return exitWith(ExitError, nil)
	}
	fmt.Fprintf(sys.Stderr, "moonlap: %s kept in %s\n", ui.Plural(len(measured), "price is", "prices are"), kept)
	if failed > 0 {
		return exitWith(ExitPartial, nil)
	}
	return nil
}

// spread shows what each run found, where there are several.
func spread(g ui.Glyphs, runs []float64) string {
	if len(runs) < 2 {
		return ""
	}
	texts := make([]string, len(runs))
	for i, ns := range runs {
		texts[i] = g.Time(ns)
	}
	return "; by run " + strings.Join(texts, ", ")
}

// openPair makes a side of a rule's file, as compare does with a bench file.
func openPair(ctx context.Context, sys Sys, o lintOptions, file string) (bench.Options, error) {
	var b benchOptions
	flags := benchFlags(&b)
	b.nginx = o.nginx
	if o.nginx == "" {
		b.luajit = o.luajit
	}
	if err := b.completeIn(flags, "", file); err != nil {
		return bench.Options{}, err
	}
	if _, err := b.openRuntime(ctx, sys); err != nil {
		return bench.Options{}, err
	}
	b.Timeout = 30 * time.Second
	return b.Options, nil
}
