package sample

import (
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/profile"
)

func TestAnd(t *testing.T) {
	sample := Sample{Lua: true}
	// A worker that ended early, and one that took its place and failed half of its looks.
	began := time.Unix(1e9, 0)
	one := Series{Samples: []Sample{sample}, Start: began.Add(time.Second), Elapsed: time.Second, Used: time.Second, CPU: 1, Paused: 2 * time.Millisecond}
	two := Series{Samples: []Sample{sample}, Failed: 2, Start: began, Elapsed: 3 * time.Second, Paused: 6 * time.Millisecond}
	both := Series{}.And(one).And(two)
	if len(both.Samples) != 2 || both.Failed != 2 || both.Period() != time.Second || both.Pause != 2*time.Millisecond || both.CPU != 0.25 || !both.Start.Equal(began) {
		t.Errorf("%+v, period %v", both, both.Period())
	}
}

func TestOnly(t *testing.T) {
	l := Series{Samples: []Sample{
		{}, {Lua: true}, {Asleep: true}, {Asleep: true, Lua: true}, {Halted: true}, {Halted: true, Lua: true},
	}}
	for which, want := range map[string]int{OnCPU: 2, OffCPU: 1, Wall: 6} {
		if n := len(l.Only(which).Samples); n != want {
			t.Errorf("%s: %d samples, want %d", which, n, want)
		}
	}
}

// TestAddTo: equal stacks are one, whatever memory they are in, and labels tell them apart.
func TestAddTo(t *testing.T) {
	stack := func() []profile.Frame {
		return []profile.Frame{
			{Kind: profile.Lua, Function: "f", File: "a.lua", Line: 2, FirstLine: 1},
			{Kind: profile.C, Function: "ngx_http_lua_access_handler", File: "nginx"},
		}
	}
	var shared stacks
	one, other := shared.shared(stack()), stack()
	if &shared.shared(other)[0] != &one[0] {
		t.Error("an equal stack does not share its memory")
	}
	at := func(uri string, stack []profile.Frame) Sample {
		return Sample{Lua: true, State: luajit.Compiled, Request: ngxlua.Request{URI: uri}, Phase: "access", Stack: stack}
	}
	l := Series{Samples: []Sample{at("/a", one), at("/a", one), at("/a", other), at("/\xff", one), {}}}
	var p profile.Profile
	l.AddTo(&p)
	p.Merge()
	if p.Total() != 5 || len(p.Stacks) != 3 {
		t.Fatalf("%d samples in %d stacks: %+v", p.Total(), len(p.Stacks), p.Stacks)
	}
	first := p.Stacks[0]
	if first.Count != 3 || first.Labels["uri"] != "/a" || first.Labels["phase"] != "access" || first.Labels["state"] != "compiled" ||
		first.Frames[1].Function != "f" {
		t.Errorf("%+v", first)
	}
	if l := p.Stacks[1].Labels["uri"]; l != "/\uFFFD" {
		t.Errorf("a URI that is no UTF-8 is the label %q", l)
	}
}

func TestPause(t *testing.T) {
	for range 100 {
		if p := pause(100, 3*time.Millisecond, 0); p < 2*time.Millisecond || p > 12*time.Millisecond {
			t.Errorf("a look of 3 ms, a hundred times a second: %v", p)
		}
		if p := pause(1000, 3*time.Millisecond, 2*time.Millisecond); p < 40*time.Millisecond {
			t.Errorf("a worker that stood still for 2 ms rests for %v", p)
		}
		if p := pause(1000, time.Second, time.Second); p != 20*time.Second {
			t.Errorf("a worker that stood still for a second rests for %v", p)
		}
	}
}
