package resumes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

// TestMerge: phases of several workers are added up, shares are of the time that was probed, and the longest resumes are
// those that took longest with a processor.
func TestMerge(t *testing.T) {
	of := func(pid int, probed time.Duration, long []Long, phases ...Phase) *Result {
		return &Result{
			Duty: probe.Duty{Elapsed: 2 * probed, Probed: probed, Cost: probed / 10, Budget: 0.1, Bursts: 3}, Count: 5, Each: 2, Lost: 1,
			Phases: phases, Workers: []Worker{{pid, probed, phases}}, Longest: long, Unseen: []string{"balancer"},
		}
	}
	sum := func(d time.Duration) probe.Durations {
		return probe.Durations{Total: d, ByLength: map[time.Duration]int{}}
	}
	phase := func(name string, own, whole, wait, noCPU time.Duration) Phase {
		return Phase{Phase: name, Own: sum(own), Whole: sum(whole), Wait: sum(wait), NoCPU: noCPU, Began: 2}
	}
	long := []Long{{PID: 2, Phase: "content", Own: 90, NoCPU: 80}, {PID: 2, Phase: "log", Own: 11}}
	got := of(1, 100, nil, phase("content", 10, 20, 300, 1), phase("log", 5, 5, 0, 0)).Merge(of(2, 300, long, phase("content", 30, 60, 100, 3))).(*Result)
	if got.Elapsed != 800 || got.Probed != 400 || got.Bursts != 6 || got.Count != 10 || got.Lost != 2 || got.Cost != 40 || got.Budget != 0.1 {
		t.Errorf("%+v", got)
	}
	if d := cmp.Diff([]string{"balancer"}, got.Unseen); d != "" {
		t.Error(d)
	}
	content := phase("content", 40, 80, 400, 4)
	if content.Began = 4; len(got.Phases) != 2 || got.Phases[1].Phase != "log" || got.Phases[1].Own.Total != 5 {
		t.Errorf("%+v", got.Phases)
	} else if d := cmp.Diff(content, got.Phases[0]); d != "" {
		t.Error(d)
	}
	if len(got.Workers) != 2 || got.Workers[0].PID != 1 || got.Workers[0].Probed != 100 || got.Workers[1].Phases[0].Own.Total != 30 {
		t.Errorf("%+v", got.Workers)
	}
	if d := cmp.Diff([]Long{long[1], long[0]}, got.Longest); d != "" {
		t.Error(d)
	}
}

// TestSampled: a long resume has the line that most of those samples found which fell into it.
func TestSampled(t *testing.T) {
	at := func(when time.Duration, line int) sample.Sample {
		return sample.Sample{Time: when, Stack: []profile.Frame{{Kind: profile.Lua, Function: "f", File: "/a.lua", Line: line}}}
	}
	thread := at(15, 4)
	thread.Thread = true
	got := Long{Start: 10, Whole: 10}
	got.sampled([]sample.Sample{at(9, 4), at(10, 4), at(12, 6), thread, at(19, 6), at(20, 4)})
	if got.Ran != "f@a.lua:6" || got.Samples != 3 {
		t.Errorf("%+v", got)
	}
}

// TestInTurns: what was timed of one worker in two stretches of time is once in the result of both, and rates are of the time that
// was probed, however long each stretch was.
func TestInTurns(t *testing.T) {
	timed := func(count int, each time.Duration) probe.Durations {
		d := probe.Durations{}
		for range count {
			d = d.Add(each)
		}
		return d
	}
	total := func(count int, probed time.Duration) Result {
		return Result{Duty: probe.Duty{Elapsed: 2 * probed, Probed: probed}, Count: count,
			Phases: []Phase{{Phase: "content", Began: count, NoCPU: time.Duration(count), Own: timed(count, 4000), Whole: timed(count, 5000)}}}
	}
	first, second := total(10, time.Second), total(70, 4*time.Second)
	stretch := func(r Result) *Result {
		r.Workers = []Worker{{PID: 7, Probed: r.Probed, Phases: r.Phases}}
		return &r
	}
	a, b := stretch(first.since(Result{})), stretch(second.since(first))
	if p := b.Phases[0]; b.Count != 60 || b.Probed != 3*time.Second || p.Own.Count != 60 || p.Began != 60 || p.NoCPU != 60 || p.Rate != 20 {
		t.Errorf("%+v", b)
	}
	both := a.Merge(b).(*Result).Over(2).(*Result)
	if len(both.Workers) != 1 || both.Workers[0].Probed != 4*time.Second || both.Workers[0].Phases[0].Rate != 17.5 {
		t.Errorf("%+v", both.Workers)
	}
	if both.Count != 70 || both.Phases[0].Rate != 17.5 || both.Phases[0].Own.Total != 70*4000 {
		t.Errorf("%+v", both)
	}
	if none := second.since(second); none.Count != 0 || len(none.Phases) != 0 {
		t.Errorf("%+v", none)
	}
}
