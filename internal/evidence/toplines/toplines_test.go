package toplines

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestOf: C counts for the Lua line that called it, recursion once, sleep not at all; halves make the whole.
func TestOf(t *testing.T) {
	lua := func(function string, first, line int) profile.Frame {
		return profile.Frame{Kind: profile.Lua, Function: function, File: "/srv/app.lua", FirstLine: first, Line: line}
	}
	c := profile.Frame{Kind: profile.C, Function: "memcpy", File: "libc.so.6"}
	inner, outer := lua("fib", 10, 12), lua("handler", 1, 3)
	samples := []sample.Sample{
		{Stack: []profile.Frame{c, inner, inner, outer, c}}, {Stack: []profile.Frame{lua("fib", 10, 11), inner, outer}},
		{Stack: []profile.Frame{c}}, {Stack: []profile.Frame{outer}}, {Asleep: true, Stack: []profile.Frame{outer}},
	}
	want := &Result{
		Samples: 4,
		Lines: []Row{{"handler@app.lua:3", 1, 3, "/srv/app.lua", 3, 0}, {"fib@app.lua:12", 1, 2, "/srv/app.lua", 12, 0},
			{"fib@app.lua:11", 1, 1, "/srv/app.lua", 11, 0}},
		Functions: []Row{{"fib@app.lua:10", 2, 2, "/srv/app.lua", 0, 0}, {"handler@app.lua:1", 1, 3, "/srv/app.lua", 0, 0}},
	}
	if diff := cmp.Diff(want, resultOf(samples)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(evidence.Result(want), resultOf(samples[:2]).Merge(resultOf(samples[2:]))); diff != "" {
		t.Error(diff)
	}
	of := want.Profile()
	if hot := of.Stacks[0]; of.Total() != 4 || hot.Count != 1 || hot.Frames[0].File != "/srv/app.lua" || hot.Frames[0].Line != 3 {
		t.Errorf("as a profile: %+v", of)
	}
	p := ui.NewPage(ui.Options{})
	want.Text(p, "")
	for _, line := range []string{"of 4 samples of CPU time", "    25 %   75 %  handler@app.lua:3", "    50 %   50 %  fib@app.lua:10"} {
		if !strings.Contains(p.String(), line) {
			t.Errorf("no %q in\n%s", line, p.String())
		}
	}
}

// TestRecent: intervals of few samples are shown together, until there are enough; those of many stand alone, and old ones go.
func TestRecent(t *testing.T) {
	of := func(n int) *Result {
		return &Result{Samples: n, Lines: []Row{{Name: "f@a.lua:1", Self: n, Total: n}}, Functions: []Row{}}
	}
	for _, tt := range []struct {
		intervals         []*Result
		samples, of, keep int
	}{
		{[]*Result{of(2), of(0), of(3)}, 5, 3, 3},
		{[]*Result{of(2), of(60), of(50)}, 110, 2, 3},
		{[]*Result{of(2), of(180)}, 180, 1, 2},
		{slices.Repeat([]*Result{of(1)}, 40), 30, 30, 30},
	} {
		sum, kept := Recent(tt.intervals)
		if sum.Samples != tt.samples || sum.Lines[0].Self != tt.samples || sum.Intervals != tt.of || len(kept) != tt.keep {
			t.Errorf("%d samples in %d intervals, %d kept; want %+v", sum.Samples, sum.Intervals, len(kept), tt)
		}
	}
}
