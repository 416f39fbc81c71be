package resumes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/worker"
)

// TestOf: phases of several workers are added up, shares are of the time that was probed, and the longest resumes are
// those that took longest with a processor.
func TestOf(t *testing.T) {
	of := func(pid int, probed time.Duration, long []worker.LongResume, phases ...worker.PhaseResumes) worker.Resumes {
		return worker.Resumes{
			PID: pid, Duty: probe.Duty{Elapsed: 2 * probed, Probed: probed, Cost: probed / 10, Budget: 0.1, Bursts: 3}, Runs: 5, Each: 2, Lost: 1,
			Phases: phases, Long: long, Unseen: []string{"balancer"},
		}
	}
	phase := func(name string, own, whole, wait, noCPU time.Duration) worker.PhaseResumes {
		return worker.PhaseResumes{Phase: name, PhaseRuns: probe.PhaseRuns{
			Own: probe.Durations{Total: own}, Whole: probe.Durations{Total: whole}, Waits: probe.Durations{Total: wait}, Queued: noCPU, Began: 2,
		}}
	}
	line := func(n int) worker.Frame {
		return worker.Frame{Kind: luajit.Lua, Function: "f", File: "/a.lua", Line: n}
	}
	goesOn := line(3)
	long := worker.LongResume{
		PID: 2, Phase: "content", Request: worker.Request{URI: "/x"}, Start: 7, Own: 90, Whole: 100, Queued: 80, GoesOn: true, Pauses: true, From: &goesOn,
		Waits:   []worker.Frame{{Kind: luajit.Builtin, Function: "ngx.sleep"}, line(5)},
		Samples: []worker.Sample{{Stack: []worker.Frame{line(4)}}, {Stack: []worker.Frame{line(6)}}, {Stack: []worker.Frame{line(6)}}},
	}
	got := Of([]worker.Resumes{
		of(1, 100, nil, phase("content", 10, 20, 300, 1), phase("log", 5, 5, 0, 0)),
		of(2, 300, []worker.LongResume{long, {PID: 2, Phase: "log", Own: 11}}, phase("content", 30, 60, 100, 3)),
	})
	if got.Elapsed != 800 || got.Probed != 400 || got.Bursts != 6 || got.Count != 10 || got.Lost != 2 || got.Cost != 40 || got.Budget != 0.1 {
		t.Errorf("%+v", got)
	}
	if d := cmp.Diff([]string{"balancer"}, got.Unseen); d != "" {
		t.Error(d)
	}
	sum := func(d time.Duration) probe.Durations {
		return probe.Durations{Total: d, ByLength: map[time.Duration]int{}}
	}
	content := Phase{Phase: "content", Began: 4, NoCPU: 4, Own: sum(40), Whole: sum(80), Wait: sum(400)}
	if len(got.Phases) != 2 || got.Phases[1].Phase != "log" || got.Phases[1].Own.Total != 5 {
		t.Errorf("%+v", got.Phases)
	} else if d := cmp.Diff(content, got.Phases[0]); d != "" {
		t.Error(d)
	}
	if len(got.Workers) != 2 || got.Workers[0].PID != 1 || got.Workers[0].Probed != 100 || got.Workers[1].Phases[0].Own.Total != 30 {
		t.Errorf("%+v", got.Workers)
	}
	want := []Long{
		{PID: 2, Phase: "log", Own: 11},
		{PID: 2, Phase: "content", URI: "/x", Start: 7, Own: 90, Whole: 100, NoCPU: 80, GoesOn: true, From: "f@a.lua:3", Pauses: true,
			Waits: "f@a.lua:5", In: "ngx.sleep", Ran: "f@a.lua:6", Samples: 3},
	}
	if d := cmp.Diff(want, got.Longest); d != "" {
		t.Error(d)
	}
}
