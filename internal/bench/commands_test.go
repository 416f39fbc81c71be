package bench

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime/exec"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/sequential"
	"github.com/moonlap/moonlap/internal/stat/whole"
)

// wholeCommands are a measurement of commands.
func wholeCommands(t *testing.T, o Options, of ...exec.Command) Measurement {
	t.Helper()
	o.Timeout = time.Minute
	opened, err := exec.Open(t.Context(), exec.Options{Commands: of, Path: os.Getenv("PATH"), Timeout: o.Timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	o.Program, o.Workers, o.Runtime = opened, []int{1}, record.Runtime{Kind: record.KindCommand}
	return Measurement{Sides: []Side{{Options: o}}}
}

// measured runs a measurement and returns the record as read back from its lines.
func measured(t *testing.T, m Measurement) *record.Record {
	t.Helper()
	var lines bytes.Buffer
	w := record.NewWriter(&lines)
	_, err := Run(t.Context(), m, record.Run{Schema: record.Schema, Kind: record.KindTime}, w.Write, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := record.Read(&lines, "the record")
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// batch is the time of a process's one batch of a kind.
func batch(t *testing.T, p *record.ProcessRecord, kind string) float64 {
	t.Helper()
	for _, b := range p.Batches {
		if b.Kind == kind {
			return b.NS[0]
		}
	}
	return 0
}

// A twin that sleeps longer than nothing is taken off; what remains is the difference,
// and the CPU time knows nothing of either sleep.
func TestTwinIsTakenOff(t *testing.T) {
	rec := measured(t, wholeCommands(t, Options{Processes: 6, Warmup: 1}, exec.Command{
		Name: "sleep", Args: []string{"sleep", "0.15"}, Empty: []string{"sleep", "0.05"},
	}))
	res := whole.Summarize(rec)
	c := res.Commands[0]
	// Sleeps are never shorter than asked for, however busy the machine is.
	if c.WallNS.Min < 150e6 || c.EmptyNS.Estimate < 50e6 {
		t.Errorf("wall %v, twin %v", c.WallNS, c.EmptyNS)
	}
	sum := 0.0
	for _, p := range rec.Of(0) {
		sum += batch(t, p, record.Measure) - batch(t, p, record.Empty)
	}
	if got := estimate.Mean(perProcess(res)); !near(got, sum/6) {
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
	m := wholeCommands(t, Options{Processes: 8, Seed: 7},
		exec.Command{Name: "a", Args: say("a"), Empty: say("e")}, exec.Command{Name: "b", Args: say("b"), Empty: say("e")})
	rule := sequential.DefaultComparing()
	rule.Processes = 8
	m.Comparing = &rule
	measured(t, m)
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

// Commands that differ are told apart and end early; what was decided live is what the
// record says. All three figures are judged, as all commands have a twin.
func TestComparedInTurns(t *testing.T) {
	rule := sequential.DefaultComparing()
	spin := func(turns string) []string {
		return []string{"sh", "-c", "i=0; while [ $i -lt " + turns + " ]; do i=$((i+1)); done"}
	}
	empty := []string{"sh", "-c", ""}
	m := wholeCommands(t, Options{Time: time.Minute, Seed: 3, Warmup: 1},
		exec.Command{Name: "fails", Args: []string{"false"}, Empty: empty},
		exec.Command{Name: "a", Args: spin("10000"), Empty: empty}, exec.Command{Name: "b", Args: spin("100000"), Empty: empty})
	m.Comparing = &rule
	res := whole.Summarize(measured(t, m))
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
	m := wholeCommands(t, Options{Time: time.Hour, Precision: 1e-9}, exec.Command{Name: "x", Args: []string{"true"}})
	rec, err := Run(ctx, m, record.Run{Schema: record.Schema, Kind: record.KindTime}, func(record.Line) error { return nil }, func(p Progress) {
		if p.Round == 4 {
			cancel()
		}
	})
	if err != context.Canceled || rec.End == nil || rec.End.Reason != "interrupted" {
		t.Fatalf("%v, end %v", err, rec.End)
	}
	if res := whole.Summarize(rec); res.Commands[0].Runs != 3 || res.Complete {
		t.Errorf("%d runs", res.Commands[0].Runs)
	}
}
