package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/lint"
	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/sample"
)

// measured reads the profile that findings are ranked by; of load it also tells how much CPU time a request takes.
func (o lintOptions) measured(ctx context.Context, sys Sys, file string) (m lint.Measured, err error) {
	p, rec, err := new(profileOptions).readWith(ctx, sys, file)
	if err != nil {
		return m, err
	}
	if p.Unit == profile.Bytes || !slices.Contains([]string{"", sample.OnCPU, sample.Wall}, p.Moments) {
		return m, fmt.Errorf("%s is no profile of CPU time: take one with 'moonlap profile', without --off-cpu and --allocations", file)
	}
	m.Profile = p
	if rec != nil && rec.Run.Kind == record.KindLoad {
		if sides := load.Summarize(rec).Sides; len(sides) == 1 && sides[0].Server != nil {
			m.PerRequest = sides[0].Server.CPUPerRequestNS.Estimate
		}
	}
	return m, nil
}

// underLoad puts load on a URL, has the server profiled, and returns what was measured.
func (o lintOptions) underLoad(ctx context.Context, sys Sys) (m lint.Measured, err error) {
	folder, err := runtime.NewFolder()
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "load.jsonl")
	of := sys
	of.Stdout, of.StdoutTerminal = sys.Stderr, sys.StderrTerminal
	cmd := newLoadCommand(of)
	args := []string{"--profile", "--out", file, "--duration", time.Duration(o.loadTime).String()}
	if o.luajit != "" {
		args = append(args, "--luajit", o.luajit)
	}
	cmd.SetArgs(append(args, o.load))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	// What load warns of stands in its report; what it measured is used all the same.
	loadErr := cmd.ExecuteContext(ctx)
	if ctx.Err() != nil {
		return m, ctx.Err()
	}
	if m, err = o.measured(ctx, sys, file); err != nil {
		return m, errors.Join(loadErr, fmt.Errorf("--load %s: the server could not be profiled: %w", o.load, err))
	}
	return m, nil
}
