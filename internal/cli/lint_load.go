package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/lint"
	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/view/profiles"
	"github.com/moonlap/moonlap/internal/view/watch"
)

// measured reads the profile that findings are ranked by; for load it also returns the CPU time per request.
func (o lintOptions) measured(ctx context.Context, sys Sys, file string) (m lint.Measured, err error) {
	p, rec, err := readProfile(ctx, sys, file, "")
	if errors.Is(err, profile.ErrNotProfile) {
		p, err = ofWatch(file, err)
	}
	if err != nil {
		return m, err
	}
	if p.Unit == profile.Bytes || !slices.Contains([]string{"", sample.OnCPU, sample.Wall}, p.Mode) {
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

// ofWatch is a profile of the lines in pages that watch kept; err is why the file is no other profile.
func ofWatch(file string, err error) (*profile.Profile, error) {
	data, readErr := files.Read(file, profiles.Most)
	if readErr != nil {
		return nil, readErr
	}
	lines, linesErr := watch.Lines(data)
	switch {
	case linesErr != nil:
		return nil, fmt.Errorf("%s: %w", file, linesErr)
	case lines == nil:
		return nil, err
	}
	return lines.Profile(), nil
}

// underLoad puts load on a URL, has the server profiled, and returns what was measured.
func (o lintOptions) underLoad(ctx context.Context, sys Sys) (m lint.Measured, err error) {
	folder, err := runtime.NewFolder()
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "load.jsonl")
	args := []string{"--profile"}
	if o.luajit != "" {
		args = append(args, "--luajit", o.luajit)
	}
	of := sys
	of.Stdout, of.StdoutTerminal = sys.Stderr, sys.StderrTerminal
	// What load warns of stands in its report; what it measured is used all the same.
	loadErr := o.putLoad(ctx, of, file, append(args, o.load)...)
	if ctx.Err() != nil {
		return m, ctx.Err()
	}
	if m, err = o.measured(ctx, sys, file); err != nil {
		return m, fmt.Errorf("--load %s: %w", o.load, cmp.Or(loadErr, err))
	}
	return m, nil
}

// putLoad has 'moonlap load' keep its record in a file.
func (o lintOptions) putLoad(ctx context.Context, sys Sys, file string, args ...string) error {
	cmd := newLoadCommand(sys)
	cmd.SetArgs(append([]string{"--out", file, "--duration", time.Duration(o.loadTime).String()}, args...))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return cmd.ExecuteContext(ctx)
}

// comparePair compares two configurations under load, by the server's CPU time a request.
func (l *linting) comparePair(ctx context.Context, sys Sys, o lintOptions, good, bad string) (r lint.Loaded, err error) {
	for _, conf := range []string{good, bad} {
		if err := l.loadModule(conf); err != nil {
			return r, err
		}
	}
	file := filepath.Join(filepath.Dir(good), "pair.jsonl")
	args := []string{"--metrics", "cpu", "--connections", "4", "--ab-conf", good}
	if o.nginx != "" {
		args = append(args, "--nginx", o.nginx)
	}
	var report strings.Builder
	of := sys
	of.Stdout, of.StdoutTerminal = &report, false
	err = o.putLoad(ctx, of, file, append(args, bad, "http://127.0.0.1:8080/")...)
	rec, readErr := readRecord(ctx, sys, file)
	if rec == nil {
		return r, errors.Join(err, readErr)
	}
	res := load.Summarize(rec)
	if len(res.Sides) != 2 || res.Sides[0].Server == nil || len(res.Comparisons) != 1 {
		return r, errors.Join(err, errors.New("the server's CPU time is not known"))
	}
	return lint.Loaded{GoodNS: res.Sides[0].Server.CPUPerRequestNS.Estimate, Ratio: res.Comparisons[0].Ratio, Verdict: res.Comparisons[0].Verdict}, nil
}

// loadModule has a configuration load the Lua module, where nginx does not hold it.
func (l *linting) loadModule(conf string) error {
	if l.nginx.LuaModule == "" {
		return nil
	}
	text, err := os.ReadFile(conf)
	if err != nil {
		return err
	}
	first := ""
	for _, module := range []string{filepath.Join(filepath.Dir(l.nginx.LuaModule), "ndk_http_module.so"), l.nginx.LuaModule} {
		first += "load_module " + module + ";\n"
	}
	return os.WriteFile(conf, append([]byte(first), text...), 0o600)
}
