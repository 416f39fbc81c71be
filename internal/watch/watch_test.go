package watch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/worker"
)

func TestRow(t *testing.T) {
	start := time.Unix(1000, 0)
	before := worker.Usage{At: start, CPU: time.Second, Wait: time.Minute, Voluntary: 10, Involuntary: 5, MajorFaults: 7, Read: 1000, Write: 50}
	after := worker.Usage{
		At: start.Add(2 * time.Second), CPU: 1500 * time.Millisecond, Wait: time.Minute + 200*time.Millisecond,
		Voluntary: 30, Involuntary: 5, MajorFaults: 7, Read: 5000, Write: 250, RSS: 1 << 20, Sockets: 3,
	}
	got := row(42, before, after, worker.Glances{
		Count: 200, Lua: 50, InUse: 4096, Traces: 9,
		States:   map[luajit.State]int{luajit.Compiled: 40, luajit.InC: 10},
		Requests: map[string]int{"/b": 20, "/a": 20, "/c": 5},
	})
	want := Row{
		PID: 42, CPU: 0.25, Wait: 0.1, Lua: 0.25, States: map[string]float64{"compiled": 0.8, "C": 0.2}, Busiest: "/a",
		Heap: 4096, Traces: 9, RSS: 1 << 20, Sockets: 3, Voluntary: 10, Read: 2000, Write: 100,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	if got.StateOf() != "compiled" {
		t.Errorf("most often %q", got.StateOf())
	}
}

// TestRowOfNothing: no time, no glances, counters that run backwards because the process is another.
func TestRowOfNothing(t *testing.T) {
	u := worker.Usage{At: time.Unix(1000, 0), Voluntary: 10}
	got := row(42, u, worker.Usage{At: u.At}, worker.Glances{})
	if got.CPU != 0 || got.Lua != 0 || got.Voluntary != 0 || got.StateOf() != "" || got.Busiest != "" {
		t.Errorf("%+v", got)
	}
}
