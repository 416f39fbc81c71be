package gotest

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// discover calls a benchmark once and adds the cases that it turns out to be: itself, or
// those that it gives to b.Run. It runs in a process of its own, so that one that crashes
// or never ends takes no other with it.
func (t *Tests) discover(ctx context.Context, p *testPackage, b benchFunc, timeout time.Duration) error {
	end, err := t.runTest(ctx, testRun{pkg: p, name: b.name, calls: 1, count: 1, timeout: timeout})
	if err != nil {
		return err
	}
	culprits := end.culprits()
	for _, name := range end.said.begun {
		c := &benchCase{pkg: p, full: name}
		switch {
		case slices.Contains(culprits, name):
			c.failed = end
		case !end.said.finished(name):
			continue // it only gave others to b.Run, or was skipped
		}
		c.declared = record.Case{
			Benchmark: strings.TrimPrefix(b.name, "Benchmark"), Params: paramsOf(name),
			File: b.File, Line: b.Line, Runtime: runtime.Go, Package: p.path, GC: "natural",
		}
		t.cases = append(t.cases, c)
	}
	return nil
}

// finished reports whether a benchmark printed a result.
func (o *testOutput) finished(name string) bool {
	return slices.ContainsFunc(o.results, func(r testResult) bool { return r.name == name+o.suffix() })
}

// culprits are the benchmarks that kept a listing from success: those that failed, or the
// one that was under way when the process ended.
func (e *testEnd) culprits() []string {
	o := e.said
	if e.Status == 0 && o.passed {
		return nil
	}
	var names []string
	for _, name := range o.failed {
		// A benchmark fails with those that it gave to b.Run.
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name+"/") }) {
			names = append(names, name)
		}
	}
	if len(names) > 0 || o.passed {
		return names
	}
	last := o.run.name
	if n := len(o.begun); n > 0 && !o.finished(o.begun[n-1]) {
		last = o.begun[n-1]
	}
	if !slices.Contains(o.begun, last) {
		o.begun = append(o.begun, last)
	}
	return []string{last}
}

// nameCases gives the cases their names and numbers: as benchstat has them, with the
// package in front where there are several.
func (t *Tests) nameCases(packages []*testPackage) {
	common := ""
	if len(packages) > 1 {
		common = packages[0].path
		for _, p := range packages {
			for p.path != common && !strings.HasPrefix(p.path, common+"/") && common != "." {
				common = path.Dir(common)
			}
		}
	}
	for i, c := range t.cases {
		name := cmp.Or(strings.TrimPrefix(c.full, "Benchmark"), c.full)
		if len(packages) > 1 {
			inside := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(c.pkg.path, common), "/"), path.Base(c.pkg.path))
			name = inside + "." + name
		}
		c.declared.Case, c.declared.Index, c.declared.Name = i, i, name
		if c.declared.Benchmark == "" {
			c.declared.Benchmark = name
		}
	}
}

// paramsOf are the parts key=value of a name, by the convention of Go's benchmark format.
func paramsOf(name string) map[string]any {
	params := map[string]any{}
	for _, part := range strings.Split(name, "/")[1:] {
		key, value, ok := strings.Cut(part, "=")
		if !ok || key == "" {
			continue
		}
		if x, err := strconv.ParseFloat(value, 64); err == nil && x-x == 0 {
			params[key] = x
		} else {
			params[key] = value
		}
	}
	if len(params) == 0 {
		return nil
	}
	return params
}
