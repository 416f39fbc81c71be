package gotest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/runtime"
)

// Batches are long against the clock's steps, whatever a call takes, and hold whole cycles
// of the collector where a call allocates.
func TestGoCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Float64Range(0.1, 1e10).Draw(t, "ns")
		job := runtime.Job{MeasureNS: rapid.Float64Range(1e6, 1e9).Draw(t, "measure")}
		calls := callsOf(job, ns, 0, leastCycle)
		if length := float64(calls) * ns; calls < 1 || length < leastBatch && calls < mostCalls {
			t.Errorf("%d calls take %v ns", calls, length)
		}
		const bytes = 1000
		allocating := callsOf(job, ns, bytes, leastCycle)
		length := float64(allocating) * ns
		if allocating < calls || float64(allocating)*bytes < cycles*leastCycle && length < longestBatch/2 {
			t.Errorf("%d calls allocate %d bytes in %v ns", allocating, allocating*bytes, length)
		}
		job.GC = "stopped"
		if got := callsOf(job, ns, bytes, leastCycle); got != calls {
			t.Errorf("%d calls without a collector, not %d", got, calls)
		}
	})
}

// A process ends well before its timeout, but measures at all.
func TestGoCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		batch := rapid.Float64Range(1e6, 1e10).Draw(t, "batch")
		wall := batch * rapid.Float64Range(1, 10).Draw(t, "around")
		spec := runtime.Spec{Job: runtime.Job{MeasureNS: rapid.Float64Range(1e6, 1e9).Draw(t, "measure")}, Timeout: 30 * time.Second}
		count := countOf(spec, batch, wall)
		if count < leastCount || count > leastCount && float64(count)*wall > float64(spec.Timeout)/3 {
			t.Errorf("%d batches of %v ns", count, wall)
		}
	})
}

// A process has its own number of calls, the same for the same seed.
func TestGoJitter(t *testing.T) {
	b := &batchPlan{calls: 1000}
	seen := map[int]bool{}
	for process := range 50 {
		calls := b.jittered(7, process)
		if calls < 1000 || calls > 1200 || calls != b.jittered(7, process) {
			t.Errorf("process %d: %d calls", process, calls)
		}
		seen[calls] = true
	}
	if len(seen) < 20 {
		t.Errorf("only %d lengths", len(seen))
	}
}

func TestGoCycle(t *testing.T) {
	s := &goStack{}
	for _, line := range []string{
		"gc 1 @0.005s 1%: 0.1+0.2+0.03 ms clock, 0.2+0.1/0.1/0.0+0.06 ms cpu, 3->4->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P",
		"gc 2 @0.010s 1%: 0.1+0.2+0.03 ms clock, 0.2+0.1/0.1/0.0+0.06 ms cpu, 9->9->8 MB, 16 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)",
		"gc of mine, 1->1->0 MB, 99 MB goal",
	} {
		s.hear([]byte(line))
	}
	if s.cycle != 8<<20 || len(s.lines) != 0 {
		t.Errorf("a cycle of %v bytes; %v", s.cycle, s.lines)
	}
}
