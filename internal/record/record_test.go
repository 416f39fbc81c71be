package record

import (
	"testing"
)

func build(t *testing.T, lines ...Line) *Record {
	t.Helper()
	rec := &Record{}
	for _, l := range lines {
		if err := rec.Add(l); err != nil {
			t.Fatal(err)
		}
	}
	return rec
}

func TestWorkersShareTheExit(t *testing.T) {
	rec := build(t, Run{Schema: Schema}, Case{Name: "a"}, Case{Case: 1, Name: "b"},
		Process{In: In{Process: 1}}, &Process{In: In{Process: 2, Worker: 0}, Case: 1}, Process{In: In{Process: 2, Worker: 1}, Case: 1},
		Finish{In: In{Process: 2, Worker: 1}, Stop: "enough"},
		Exit{Process: 2, Status: 3}, Exit{Process: 5, Status: 1}, &End{Reason: "complete"})
	of := rec.Of(1)
	if len(rec.Of(0)) != 1 || len(of) != 2 {
		t.Fatalf("processes of the cases: %d, %d", len(rec.Of(0)), len(of))
	}
	if of[0].Exit == nil || of[0].Exit != of[1].Exit || of[0].Exit.Status != 3 {
		t.Error("the workers of a process do not share its exit")
	}
	if rec.Of(0)[0].Exit != nil {
		t.Error("a process got the exit of another")
	}
	if of[0].Finish != nil || of[1].Finish == nil {
		t.Error("the finish line went to the wrong worker")
	}
	if len(rec.Exits) != 1 || rec.Exits[0].Process != 5 {
		t.Errorf("exits without a process: %+v", rec.Exits)
	}
	if !rec.Complete() {
		t.Error("not complete")
	}
}

func TestFaultsOf(t *testing.T) {
	rec := build(t, Run{Schema: Schema},
		Fault{Case: -1, Text: "load"}, // before any process began
		Case{Name: "a"}, Case{Case: 1, Name: "b"},
		Process{In: In{Process: 1}}, Fault{In: In{Process: 1}, Text: "run"},
		Fault{In: In{Process: 2}, Case: 1, Text: "start"})
	for kase, want := range map[int]string{-1: "load", 0: "run", 1: "start"} {
		if got := rec.FaultsOf(kase); len(got) != 1 || got[0].Text != want {
			t.Errorf("faults of case %d: %+v, want %q", kase, got, want)
		}
	}
}
