package compiler

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

// run is samples of one worker: of ten, half are interpreted in a loop that was given up, and one leaves a trace.
func run(why luajit.Why, line int) sample.Series {
	root := profile.Frame{Kind: profile.Lua, Function: "f", File: "/a.lua", FirstLine: 1, Line: 3}
	at := profile.Frame{Kind: profile.Lua, Function: "f", File: "/a.lua", Line: line}
	end := sample.End{At: at, Called: profile.Frame{Function: "string.gsub"}, GoesOn: true}
	one := func(state luajit.State) sample.Sample {
		return sample.Sample{Lua: true, State: state, Stack: []profile.Frame{at}}
	}
	interpreted, left := one(luajit.Interpreted), one(luajit.TraceExit)
	interpreted.Uncompiled = &sample.Uncompiled{Root: root, Uncompiled: &luajit.Uncompiled{
		Why: why, Reason: "NYI: bytecode", Place: luajit.Place{Loop: true}, Obstacles: []luajit.Obstacle{{Code: "FNEW", Line: 5}},
	}}
	left.Exit = &sample.Exit{Trace: 7, Number: 2, Root: root, Loop: true, To: at}
	asleep := interpreted
	asleep.Asleep = true // takes no CPU time, and does not count
	return sample.Series{
		Samples: []sample.Sample{
			interpreted, interpreted, interpreted, interpreted, interpreted, left, one(luajit.Record), one(luajit.Compiled), {}, {}, asleep,
		},
		Compilation: &sample.Compilation{
			Limits: luajit.Limits{Traces: 1000, Code: 1 << 20}, Traces: 12, Area: 1 << 16, Flushes: 1, Ends: map[sample.End]int{end: 2},
		},
	}
}

// TestOf: roots, causes, exits and ends are summed up, as parts of all CPU time.
func TestOf(t *testing.T) {
	lines := []evidence.Share{{Name: "f@a.lua:4", Share: 0.5}}
	want := &Result{
		Of: 10, Interpreted: 0.5, Leaving: 0.1, Compiling: 0.1, Traces: 12, MaxTraces: 1000, Area: 1 << 16, MaxArea: 1 << 20, Flushes: 1,
		Roots: []Root{{
			Function: "f", File: "/a.lua", Line: 3, Loop: true, Share: 0.5, Cause: luajit.Blacklisted, Reason: "NYI: bytecode",
			Obstacles: []Obstacle{{"FNEW", 5}}, Remedy: "make the closure outside, once, and hand it what it needs as arguments", Lines: lines,
		}},
		Causes: []Cause{{luajit.Blacklisted, "NYI: bytecode", 0.5}},
		Exits:  []Exit{{7, 2, "f@a.lua:3", true, "f@a.lua:4", 0.1}},
		Ends:   []End{{Call{"string.gsub", "f@a.lua:4"}, true, 2}},
	}
	got := Of(run(luajit.Blacklisted, 4))
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if Of(sample.Series{Samples: []sample.Sample{{}}, Compilation: &sample.Compilation{}}) != nil || Of(sample.Series{Samples: run(luajit.Off, 1).Samples}) != nil {
		t.Error("something, without Lua or without a compiler")
	}
}

// TestMerge: what two workers have in common is added up, by what each was seen; neither changes.
func TestMerge(t *testing.T) {
	a, b, c := Of(run(luajit.Blacklisted, 4)), Of(run(luajit.Blacklisted, 6)), Of(run(luajit.Penalized, 4))
	same := a.Merge(b).(*Result)
	if same.Of != 20 || same.Interpreted != 0.5 || len(same.Roots) != 1 || same.Roots[0].Share != 0.5 || len(same.Exits) != 2 || same.Traces != 12 || same.Flushes != 2 {
		t.Errorf("%+v", same)
	}
	if d := cmp.Diff([]evidence.Share{{Name: "f@a.lua:4", Share: 0.25}, {Name: "f@a.lua:6", Share: 0.25}}, same.Roots[0].Lines); d != "" {
		t.Error(d)
	}
	other := a.Merge(c).(*Result)
	if len(other.Roots) != 2 || len(other.Causes) != 2 || other.Roots[1].Share != 0.25 || len(other.Ends) != 1 || other.Ends[0].Traces != 4 {
		t.Errorf("%+v", other)
	}
	if d := cmp.Diff(Of(run(luajit.Blacklisted, 4)), a); d != "" {
		t.Error(d)
	}
}

// TestEndsOfRequests: that a trace ends where a request is answered is usual; where a built-in function is called it is not.
func TestEndsOfRequests(t *testing.T) {
	for called, usual := range map[string]bool{"ngx.say": true, "ngx_http_lua_module.so+0x37d10": true, "string.gsub": false} {
		u := &sample.Uncompiled{
			Uncompiled: &luajit.Uncompiled{Why: luajit.Left, End: &luajit.End{}}, End: sample.End{Called: profile.Frame{Function: called}},
		}
		if r := rootOf(u, 1, ""); r.Usual() != usual || r.Remedy == "" {
			t.Errorf("%s: %q", called, r.Remedy)
		}
	}
}
