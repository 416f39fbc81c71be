package bench

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// fakeLuaJIT is a program that says lines on the channel, as a VM does that lists cases.
func fakeLuaJIT(t *testing.T, lines ...string) record.Runtime {
	t.Helper()
	path := filepath.Join(t.TempDir(), "luajit")
	script := "#!/bin/sh\ncat >&3 <<'END'\n" + strings.Join(append(lines, "END\n"), "\n")
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return record.Runtime{Kind: runtime.LuaJIT, Path: path, Version: "LuaJIT 0.0.0-fake"}
}

const (
	fakeShort  = `{"type":"case","process":0,"worker":0,"case":0,"index":0,"name":"text/size=1","benchmark":"text","params":{"size":1},"tags":["quick"],"file":"a.lua","line":3,"runtime":"","gc":"natural"}`
	fakeLong   = `{"type":"case","process":0,"worker":0,"case":1,"index":1,"name":"text/size=10","benchmark":"text","params":{"size":10},"tags":["slow"],"file":"a.lua","line":3,"runtime":"","gc":"natural","concurrency":2,"rate":50}`
	fakeOther  = `{"type":"case","process":0,"worker":0,"case":2,"index":2,"name":"other","benchmark":"other","file":"a.lua","line":9,"runtime":"","gc":"natural"}`
	fakeFinish = `{"type":"finish","process":0,"worker":0,"stop":"enough","elapsed_ns":1}`
)

func TestPlanFilters(t *testing.T) {
	fake := fakeLuaJIT(t, fakeShort, fakeLong, fakeOther, fakeFinish)
	for filter, want := range map[string][]string{
		"":              {"text/size=1", "text/size=10", "other"},
		"size=1$":       {"text/size=1"},
		"^slow$|^other": {"text/size=10", "other"},
		"quick":         {"text/size=1"},
	} {
		o := Options{File: "a.lua", Runtime: fake, Workers: []int{1}, GC: "full", Laps: true}
		if filter != "" {
			o.Filter = regexp.MustCompile(filter)
		}
		cases, err := Plan(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i, c := range cases {
			names = append(names, c.Name)
			if c.Case != i {
				t.Errorf("%q: %s is number %d of the plan, not %d", filter, c.Name, c.Case, i)
			}
			if c.GC != "full" || !c.Laps || c.Runtime != runtime.LuaJIT || c.Phase != "" || c.Workers != 0 {
				t.Errorf("%q: %s does not run as told: %+v", filter, c.Name, c)
			}
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("--filter %q (-want +got):\n%s", filter, diff)
		}
	}

	o := Options{Runtime: fake, Workers: []int{1}, Filter: regexp.MustCompile("absent")}
	if _, err := Plan(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--filter absent") {
		t.Errorf("no case matches: %v", err)
	}
}

// A case keeps its number in the bench file, by which the VM finds it again.
func TestPlanKeepsIndexAndOptions(t *testing.T) {
	o := Options{
		Runtime: fakeLuaJIT(t, fakeShort, fakeLong, fakeFinish), Workers: []int{1},
		Filter: regexp.MustCompile("slow"),
	}
	cases, err := Plan(t.Context(), o)
	if err != nil || len(cases) != 1 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	if c := cases[0]; c.Case != 0 || c.Index != 1 || c.Concurrency != 2 || c.Rate != 50 {
		t.Errorf("the case's own options are lost: %+v", c)
	}
	o.Concurrency, o.Rate = 8, 100
	cases, err = Plan(t.Context(), o)
	if err != nil || cases[0].Concurrency != 8 || cases[0].Rate != 100 {
		t.Errorf("the command line does not win: %+v, %v", cases, err)
	}
}

func TestVariants(t *testing.T) {
	o := Options{
		Runtime: record.Runtime{Kind: runtime.Nginx}, Workers: []int{1, 4}, Phase: "content",
	}
	declared := record.Case{Name: "incr", Benchmark: "incr", Index: 5}
	for i, workers := range o.Workers {
		v := o.variant(declared, workers, i)
		want := declared
		want.Case, want.Name, want.Workers = i, []string{"incr/workers=1", "incr/workers=4"}[i], workers
		want.Runtime, want.Phase = runtime.Nginx, "content"
		if diff := cmp.Diff(want, v.Case); diff != "" {
			t.Errorf("%d workers (-want +got):\n%s", workers, diff)
		}
		if v.nameInVM != "incr" {
			t.Errorf("the VM would look for %q", v.nameInVM)
		}
	}
	o.Workers = []int{4}
	if v := o.variant(declared, 4, 0); v.Name != "incr" {
		t.Errorf("without a choice of workers the case is called %q", v.Name)
	}
}

func TestPlanErrors(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"no case", []string{fakeFinish}, "a.lua: declares no benchmark; "},
		{"the first fault counts", []string{
			`{"type":"fault","process":0,"worker":0,"case":0,"kind":"error","stage":"load","text":"first","file":"a.lua","line":7}`,
			`{"type":"fault","process":0,"worker":0,"case":0,"kind":"error","stage":"load","text":"second","file":"a.lua","line":8}`,
		}, "a.lua:7: first"},
		{"cases before a fault", []string{fakeShort,
			`{"type":"fault","process":0,"worker":0,"case":0,"kind":"exit","text":"gone"}`}, "gone"},
		{"silence", nil, "a.lua ended its own process with status 0 before it had finished"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cases, err := Plan(t.Context(), Options{File: "a.lua", Runtime: fakeLuaJIT(t, test.lines...), Workers: []int{1}})
			var plan *PlanError
			if !errors.As(err, &plan) {
				t.Fatalf("%d cases and the error %v, want a PlanError", len(cases), err)
			}
			if !strings.HasPrefix(err.Error(), test.want) || plan.Fault.Case != -1 {
				t.Errorf("got %q of case %d, want %q of none", err, plan.Fault.Case, test.want)
			}
		})
	}
}
