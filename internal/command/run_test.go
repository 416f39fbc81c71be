package command

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
)

// measure runs commands and returns the record as read back from its lines.
func measure(t *testing.T, o Options) *record.Record {
	t.Helper()
	o.Path = os.Getenv("PATH")
	var lines bytes.Buffer
	w := record.NewWriter(&lines)
	_, err := Run(t.Context(), o, record.Run{Schema: record.Schema, Kind: Kind}, w.Write, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := record.Read(&lines, "the record")
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// A twin that sleeps longer than nothing is taken off; what remains is the difference,
// and the CPU time knows nothing of either sleep.
func TestTwinIsTakenOff(t *testing.T) {
	rec := measure(t, Options{
		Runs: 6, Timeout: time.Minute, Commands: []Command{{
			Name: "sleep", Args: []string{"sleep", "0.15"}, Empty: []string{"sleep", "0.05"},
		}},
	})
	res := Summarize(rec)
	c := res.Commands[0]
	// Sleeps are never shorter than asked for, however busy the machine is.
	if c.WallNS.Min < 150e6 || c.EmptyNS.Estimate < 50e6 {
		t.Errorf("wall %v, twin %v", c.WallNS, c.EmptyNS)
	}
	sum := 0.0
	for _, p := range rec.Of(0) {
		if net := times(p, record.Measure); len(net) > 0 {
			sum += net[0] - times(p, record.Empty)[0]
		}
	}
	if got := stat.Mean(perProcess(res)); !near(got, sum/6) {
		t.Errorf("net %v of runs with mean %g, want %g", c.NetNS, got, sum/6)
	}
	// A busy machine may make two levels of the sleeps; then the case's figure is that of one.
	if k := res.Cases[0]; len(k.Modes) < 2 && !near(c.NetNS.Estimate, k.NSPerCall.Estimate) {
		t.Errorf("net %v of the command, %v of its case", c.NetNS, k.NSPerCall)
	}
	if c.CPUNS.Estimate > c.WallNS.Estimate || c.Voluntary < 1 || c.SpawnNS.Low <= 0 {
		t.Errorf("CPU %v, %g voluntary switches, spawning %v", c.CPUNS, c.Voluntary, c.SpawnNS)
	}
}

func near(a, b float64) bool { return a-b < 1 && b-a < 1 }

func perProcess(res *record.CommandResults) (ns []float64) {
	for _, p := range res.Cases[0].PerProcess {
		ns = append(ns, p.NS)
	}
	return ns
}

// Every second round is the reverse of the one before, and a shared twin runs once in it.
func TestBalancedOrder(t *testing.T) {
	log := t.TempDir() + "/log"
	say := func(word string) []string { return []string{"sh", "-c", "echo " + word + " >> " + log} }
	measure(t, Options{Runs: 8, Timeout: time.Minute, Seed: 7, Commands: []Command{
		{Name: "a", Args: say("a"), Empty: say("e")}, {Name: "b", Args: say("b"), Empty: say("e")},
	}})
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(text))[1:] // the twin is tried first
	if len(words) != 24 {
		t.Fatalf("ran %q", words)
	}
	orders := map[string]bool{}
	for i := 0; i < len(words); i += 6 {
		one, two := words[i:i+3], words[i+3:i+6]
		if one[0] != two[2] || one[1] != two[1] || one[2] != two[0] {
			t.Errorf("rounds %q and %q are not mirrored", one, two)
		}
		orders[strings.Join(one, "")] = true
	}
	if len(orders) < 2 {
		t.Errorf("always the same order: %v", orders)
	}
}

// A guessed twin that fails is dropped; one that was asked for is an error.
func TestTwinThatFails(t *testing.T) {
	o := Options{Runs: 1, Timeout: time.Minute, Path: os.Getenv("PATH"), Commands: []Command{
		{Name: "x", Args: []string{"true"}, Empty: []string{"false"}, Guessed: true},
	}}
	if res := Summarize(measure(t, o)); res.Commands[0].EmptyNS != nil || res.Commands[0].Runs != 1 {
		t.Errorf("guessed: %+v", res.Commands[0])
	}
	o.Commands[0].Guessed = false
	_, err := Run(t.Context(), o, record.Run{Schema: record.Schema}, func(record.Line) error { return nil }, func(Progress) {})
	if err == nil || !strings.Contains(err.Error(), "exited with status 1") {
		t.Errorf("asked for: %v", err)
	}
}

// Commands that differ are told apart and end early; what was decided live is what the
// record says. All three figures are judged, as all commands have a twin.
func TestComparedInTurns(t *testing.T) {
	rule := stat.DefaultComparing()
	spin := func(turns string) []string {
		return []string{"sh", "-c", "i=0; while [ $i -lt " + turns + " ]; do i=$((i+1)); done"}
	}
	empty := []string{"sh", "-c", ""}
	rec := measure(t, Options{
		Time: time.Minute, Timeout: time.Minute, Seed: 3, Comparing: &rule, Commands: []Command{
			{Name: "fails", Args: []string{"false"}, Empty: empty},
			{Name: "a", Args: spin("10000"), Empty: empty}, {Name: "b", Args: spin("100000"), Empty: empty},
		},
	})
	res := Summarize(rec)
	for name, list := range map[string][]record.Comparison{"net": res.Comparisons, "whole": res.Whole, "CPU": res.CPU} {
		if len(list) != 1 || list[0].A != "a" || list[0].B != "b" || list[0].Verdict != record.Slower {
			t.Errorf("%s: %+v", name, list)
		}
	}
	if n := res.Commands[1].Runs; n > 500 || n != res.Commands[2].Runs {
		t.Errorf("%d and %d runs of what differs by much", n, res.Commands[2].Runs)
	}
}

// A run that is cut short keeps its whole rounds and says so.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rec, err := Run(ctx, Options{Time: time.Hour, Timeout: time.Minute, Precision: 1e-9, Path: os.Getenv("PATH"),
		Commands: []Command{{Name: "x", Args: []string{"true"}}},
	}, record.Run{Schema: record.Schema, Kind: Kind}, func(record.Line) error { return nil }, func(p Progress) {
		if p.Round == 4 {
			cancel()
		}
	})
	if err != context.Canceled || rec.End == nil || rec.End.Reason != "interrupted" {
		t.Fatalf("%v, end %v", err, rec.End)
	}
	if res := Summarize(rec); res.Commands[0].Runs != 3 || res.Complete {
		t.Errorf("%d runs", res.Commands[0].Runs)
	}
}
