package turns

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

var (
	main    = profile.Frame{Kind: profile.C, Function: "main", File: "nginx"}
	handler = profile.Frame{Kind: profile.Lua, Function: "handler", File: "/srv/app.lua", FirstLine: 20, Line: 24}
	execute = profile.Frame{Kind: profile.Builtin, Function: "os.execute"}
)

const at = "handler@app.lua:24"

// TestHeld: a turn is as old as nginx's clock, if that is of this kind, less what it may be late.
func TestHeld(t *testing.T) {
	one := func(turn uint64, lua bool) sample.Sample {
		return sample.Sample{Time: 100 * time.Second, Turn: turn, Lua: lua, Stack: []profile.Frame{handler, main}}
	}
	for turn, want := range map[uint64]time.Duration{99_900: 90e6, 99_985: 0, 100_001: 0, 1_700_000_000_000: 0, 0: 0} {
		r := Of(sample.Series{Samples: []sample.Sample{one(turn, true), one(99_000, false), one(99_990, true)}}, 0)
		if want == 0 && r != nil || want != 0 && (r == nil || r.Held.For != want || r.Held.Line != at) {
			t.Errorf("at %d: %+v", turn, r)
		}
	}
}

// TestOf: long turns are described by the time of the samples that fell into them, the longest first; and both together are as
// if they had been timed together.
func TestOf(t *testing.T) {
	ticking := sample.Sample{Lua: true, Stack: []profile.Frame{handler, main}, Request: ngxlua.Request{URI: "/two"}}
	program := sample.Sample{
		Lua: true, Asleep: true, Request: ngxlua.Request{URI: "/one"}, Stack: []profile.Frame{execute, handler, main},
		Sleep: &sample.Sleep{Call: "wait4", Cause: sample.Program, For: 30 * time.Millisecond, Queued: time.Millisecond},
	}
	l := sample.Series{
		Timed: true, Every: 10 * time.Millisecond, Elapsed: time.Second, Began: time.Hour,
		Rest: probe.Rest{Turns: probe.Durations{}.Add(20 * time.Millisecond).Add(41 * time.Millisecond)},
		Stalls: []sample.Stall{
			{PID: 1, Start: time.Hour + 1, Length: 20 * time.Millisecond, Samples: []sample.Sample{ticking}},
			{PID: 2, Start: time.Hour + 5, Length: 41 * time.Millisecond, Slept: 30 * time.Millisecond, Queued: 20 * time.Millisecond,
				Samples: []sample.Sample{ticking, program}},
		},
	}
	r := Of(l, 15*time.Millisecond)
	part := func(whole, of float64) float64 { return of / whole }
	if diff := cmp.Diff([]Stall{
		{PID: 2, Start: 5, Length: 41e6, Slept: 30e6, Queued: 20e6, Samples: 2,
			URIs:  []evidence.Share{{Name: "/one", Share: part(41, 31)}, {Name: "/two", Share: part(41, 10)}},
			Lines: []evidence.Share{{Name: at + " os.execute", Share: part(41, 31)}, {Name: at, Share: part(41, 10)}}},
		{PID: 1, Start: 1, Length: 20e6, Computed: 20e6, Samples: 1, URIs: []evidence.Share{{Name: "/two", Share: 1}}, Lines: []evidence.Share{{Name: at, Share: 1}}},
	}, r.Stalls); diff != "" {
		t.Error(diff)
	}
	if r.Threshold != 15e6 || r.Lengths.Count != 2 || r.P999 < 40e6 || r.P999 > 41e6 {
		t.Errorf("%+v", r)
	}
	both := r.Merge(&Result{Threshold: 5e6, Lengths: probe.Durations{}.Add(time.Second), Stalls: []Stall{{PID: 3, Length: 30e6}}, Held: &Held{For: 1}}).(*Result)
	if both.Threshold != 15e6 || both.Lengths.Count != 3 || both.P999 < 970*time.Millisecond || len(both.Stalls) != 3 || both.Stalls[1].PID != 3 || both.Held.For != 1 || len(r.Stalls) != 2 {
		t.Errorf("%+v", both)
	}
}
