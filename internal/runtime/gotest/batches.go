package gotest

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/runtime"
)

// batchPlan is how a process of a case measures: go test's -count is the number of
// batches, -benchtime=Nx the calls of each.
type batchPlan struct {
	calls, count int
}

const (
	probe        = 5 * time.Millisecond // that go test itself looks for a number of calls
	probeBatches = 5

	leastBatch   = 1e6  // ns: long against the garbage collection before each
	longestBatch = 5e7  // ns, of a batch that waits for the collector
	leastSteps   = 1000 // of the clock in a batch
	mostCalls    = 1e9  // go test's own limit
	fewBatches   = 20   // fewer can't show a change
	leastCount   = 3    // batches, however slow a call is
	longest      = 5    // times what a process should measure, for the sake of fewBatches
	jitter       = 0.2  // processes vary in their batches' length
	cycles       = 2    // of the collector in a batch of a benchmark that allocates
)

// plan finds out how a case is to be measured, once a run: how long a call takes, what
// it allocates, and how long a batch takes with all that go test does around it. Where
// the benchmark fails at that, the end says so.
func (t *Tests) plan(ctx context.Context, spec runtime.Spec, c *benchCase) (*batchPlan, *testEnd, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.batches != nil {
		return c.batches, nil, nil
	}
	run := testRun{pkg: c.pkg, name: c.full, duration: probe, count: probeBatches, timeout: spec.Timeout}
	run.env = append(gcEnv(spec.Job.GC), "GODEBUG="+join(os.Getenv("GODEBUG"), "gctrace=1"))
	first, err := t.runTest(ctx, run)
	if err != nil || first.fault() != nil {
		return nil, first, err
	}
	// The least that a call took: what interrupts one case's probe and not another's must
	// not make their batches differ, because long ones are interrupted more often.
	ns, bytes := math.Inf(1), math.Inf(1)
	for _, r := range first.results() {
		ns, bytes = min(ns, r.values["ns/op"]), min(bytes, r.values["B/op"])
	}
	calls := callsOf(spec.Job, ns, bytes, max(first.stack.cycle, leastCycle))

	run.calls, run.count, run.env = calls, probeBatches, gcEnv(spec.Job.GC)
	second, err := t.runTest(ctx, run)
	if err != nil || second.fault() != nil {
		return nil, second, err
	}
	c.batches = &batchPlan{calls, countOf(spec, ns*float64(calls), second.WallNS/probeBatches)}
	return c.batches, nil, nil
}

// callsOf is the number of calls in a batch. go test collects garbage before each, so a
// benchmark that allocates needs batches in which collections fall due, or their cost
// would be left out: cycle is the bytes between two.
func callsOf(job runtime.Job, ns, bytes, cycle float64) int {
	ns = max(ns, 1e-3)
	length := max(leastBatch, leastSteps*runtime.Clock().StepNS, job.MeasureNS/100)
	calls := math.Ceil(length / ns)
	if bytes >= 1 && (job.GC == "" || job.GC == "natural") {
		calls = max(calls, min(math.Ceil(cycles*cycle/bytes), longestBatch/ns))
	}
	return int(min(calls, mostCalls))
}

// countOf is the number of batches in a process, each of batch ns, for which go test needs
// wall ns. Slow calls get more time than others, so that there are enough batches to see
// whether they became steady.
func countOf(spec runtime.Spec, batch, wall float64) int {
	measure := spec.Job.MeasureNS
	most := max(longest*measure, float64(time.Second)) / max(wall, 1)
	if timeout := float64(spec.Timeout); timeout > 0 {
		most = min(most, timeout/3/max(wall, 1))
	}
	count := measure / max(batch, 1)
	return int(max(leastCount, min(max(count, fewBatches), most)))
}

// jittered is a number of calls for one process, up to a fifth more, so that batches of
// different processes do not all fall into step with something periodic.
func (b *batchPlan) jittered(seed float64, process int) int {
	r := rand.New(rand.NewPCG(uint64(seed), uint64(process)))
	return int(min(float64(b.calls)*(1+jitter*r.Float64()), mostCalls))
}

// gcEnv is the environment for a mode of the collector. A collection before each batch is
// what go test does anyway.
func gcEnv(mode string) []string {
	if mode == "stopped" {
		return []string{"GOGC=off"}
	}
	return nil
}

func join(list, more string) string {
	if list == "" {
		return more
	}
	return list + "," + more
}

// gctrace is a line of GODEBUG=gctrace=1: what is alive after a collection, and the size
// of the heap at which it fell due, in MB; see the documentation of package runtime.
var gctrace = regexp.MustCompile(`^gc \d+ @.*, \d+->\d+->(\d+) MB, (\d+) MB goal`)

// leastCycle is what may be allocated between two collections when the heap is small: a
// heap of 4 MB, by default.
const leastCycle = 4 << 20

// collection takes note of the largest cycle that a line of the Go runtime tells of.
func (s *goStack) collection(line string) {
	if !strings.HasPrefix(line, "gc ") {
		return
	}
	if m := gctrace.FindStringSubmatch(line); m != nil {
		alive, _ := strconv.ParseFloat(m[1], 64)
		goal, _ := strconv.ParseFloat(m[2], 64)
		s.cycle = max(s.cycle, (goal-alive)*(1<<20))
	}
}
