package explain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/worker"
)

// slept is a sample that fell asleep for so long, and then waited for a processor.
func slept(call string, cause worker.Cause, length, queued time.Duration, frames ...worker.Frame) worker.Sample {
	return worker.Sample{
		Lua: true, Asleep: true, Request: worker.Request{URI: "/one"}, Stack: append(frames, handler, main),
		Sleep: &worker.Sleep{Call: call, Cause: cause, For: length, Queued: queued},
	}
}

// TestHeld: a turn is as old as nginx's clock, if that is of this kind, less what it may be late.
func TestHeld(t *testing.T) {
	at := func(turn uint64, lua bool) worker.Sample {
		return worker.Sample{Time: 100 * time.Second, Turn: turn, Lua: lua, Stack: []worker.Frame{handler, main}}
	}
	for turn, want := range map[uint64]int64{99_900: 90e6, 99_985: 0, 100_001: 0, 1_700_000_000_000: 0, 0: 0} {
		e := Shares(worker.Looks{Samples: []worker.Sample{at(turn, true), at(99_000, false), at(99_990, true)}})
		if got := e.Held; want == 0 && got != nil || want != 0 && (got == nil || got.NS != want || got.Line != "handler@app.lua:24") {
			t.Errorf("at %d: %+v", turn, got)
		}
	}
}

func TestFind(t *testing.T) {
	kernel := worker.Frame{Kind: worker.Kernel, Function: "do_wait", File: "kernel"}
	program := func(length time.Duration) worker.Sample {
		return slept("wait4", worker.Program, length, time.Millisecond, kernel, wait4, execute)
	}
	unnamed := worker.Frame{Kind: "c", Function: "libx.so+0x10", File: "libx.so"}
	ticking := worker.Sample{Lua: true, Stack: []worker.Frame{handler, main}, Request: worker.Request{URI: "/two"}}
	lock := slept("futex", worker.Lock, 4*time.Millisecond, 0, unnamed)
	lock.Lock = "cats"
	nginx := worker.Sample{Asleep: true, Stack: []worker.Frame{kernel, unnamed, main}, Sleep: &worker.Sleep{Call: "read", Cause: worker.Disk, For: 1}}
	l := worker.Looks{
		Timed: true, Every: 10 * time.Millisecond, Elapsed: time.Second, Began: time.Hour,
		Samples: []worker.Sample{program(10 * time.Millisecond), ticking, program(30 * time.Millisecond), lock, nginx},
		Rest:    probe.Rest{Computed: 100 * time.Millisecond, Slept: 44 * time.Millisecond, Idle: 800 * time.Millisecond, Sleeps: 4},
		Stalls: []worker.Stall{
			{PID: 1, Start: time.Hour + 1, Length: 20 * time.Millisecond, Samples: []worker.Sample{ticking}},
			{PID: 2, Start: time.Hour + 5, Length: 41 * time.Millisecond, Slept: 30 * time.Millisecond, Queued: 20 * time.Millisecond, Samples: []worker.Sample{ticking, program(30 * time.Millisecond)}},
		},
	}
	f := Find(l, 15*time.Millisecond)
	f.Blocks[0].Advice, f.Blocks[1].Advice = "", ""
	at := "handler@app.lua:24"
	if diff := cmp.Diff([]Block{
		{Line: at, Called: "os.execute", Call: "wait4", Cause: "a program", URI: "/one", Count: 2, TotalNS: 40e6, LongestNS: 30e6, QueuedNS: 2e6},
		{Line: at, Called: "libx.so+0x10", Call: "futex", Cause: "a lock", URI: "/one", Count: 1, TotalNS: 4e6, LongestNS: 4e6},
		{Called: "libx.so+0x10", Call: "read", Cause: "the disk", Count: 1, TotalNS: 1, LongestNS: 1},
	}, f.Blocks); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Times{Began: int64(time.Hour), Elapsed: 1e9, Computed: 100e6, Idle: 800e6, Slept: 44e6, Unknown: 56e6, Sleeps: 4}, f.Times); diff != "" {
		t.Error(diff)
	}
	part := func(whole, of float64) float64 { return of / whole }
	if diff := cmp.Diff([]Stall{
		{PID: 2, StartNS: 5, LengthNS: 41e6, SleptNS: 30e6, QueuedNS: 20e6, Looks: 2,
			URIs: []evidence.Share{{Name: "/one", Share: part(41, 31)}, {Name: "/two", Share: part(41, 10)}}, Lines: []evidence.Share{{Name: at + " os.execute", Share: part(41, 31)}, {Name: at, Share: part(41, 10)}}},
		{PID: 1, StartNS: 1, LengthNS: 20e6, ComputedNS: 20e6, Looks: 1, URIs: []evidence.Share{{Name: "/two", Share: 1}}, Lines: []evidence.Share{{Name: at, Share: 1}}},
	}, f.Stalls); diff != "" {
		t.Error(diff)
	}
	if f.Loop == nil || f.Loop.Turns != 0 || f.Loop.Long != 15e6 || Find(l, 0).Loop != nil {
		t.Errorf("%+v", f.Loop)
	}
	e := Shares(l)
	waits, _ := e.Evidence[locks.InSamples].(*locks.Waits)
	if waits == nil || len(waits.Lines) != 1 || waits.Lines[0].Zone != "cats" || waits.Lines[0].Line != at || waits.Lines[0].Samples != 1 ||
		waits.Lines[0].Share != waits.Lines[0].Asleep || waits.Lines[0].Share < 0.07 || waits.Lines[0].Share > 0.072 { // 4 of 56 ms
		t.Errorf("%+v", waits)
	}
	if e.Lines[0].Name != at || e.Lines[0].Share < 0.99 {
		t.Errorf("%+v", e.Lines)
	}
}
