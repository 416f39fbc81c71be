// Package allocations is evidence of what Lua allocates, and in which lines.
package allocations

import (
	"cmp"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/metrics"
	"github.com/moonlap/moonlap/internal/worker"
)

// Name is that of the kind, and of its flag.
const Name = "allocations"

// A Result is what Lua has allocated: estimates for the whole time, of all workers together. An object is what one
// allocation makes; a table with entries may be three.
type Result struct {
	Began      time.Time     `json:"began"`
	Duration   time.Duration `json:"duration_ns"` // since then
	Elapsed    time.Duration `json:"elapsed_ns"`  // the same, of all workers together, as all below
	Bytes      float64       `json:"bytes"`
	Low        float64       `json:"bytes_low"` // 95 %
	High       float64       `json:"bytes_high"`
	Objects    float64       `json:"objects"`
	Requests   uint64        `json:"requests"` // meanwhile; 0: not known, or none
	Probed     time.Duration `json:"probed_ns"`
	Windows    int           `json:"windows"`
	Samples    int           `json:"samples"`
	Effective  float64       `json:"effective_samples"` // that many samples of equal weight would say as much
	Counted    uint64        `json:"counted_bytes"`     // while it was probed
	Blocks     uint64        `json:"counted_objects"`
	Traps      int           `json:"traps"`
	Each       time.Duration `json:"cost_of_each_ns"`
	Cost       time.Duration `json:"cost_ns"`           // CPU time that all that took
	Inside     time.Duration `json:"cost_in_probed_ns"` // of that: while it was probed
	Used       time.Duration `json:"cpu_in_probed_ns"`  // CPU time of the workers then, with that cost
	Budget     float64       `json:"budget"`            // share of the elapsed time that the cost may be
	HeapBefore uint64        `json:"heap_before_bytes"`
	HeapAfter  uint64        `json:"heap_after_bytes"`
	Lines      []Line        `json:"lines"` // innermost Lua lines, that with the most bytes first
}

// A Line is what one line of Lua has allocated.
type Line struct {
	Name    string  `json:"name"`
	Share   float64 `json:"share"` // of the bytes
	Bytes   float64 `json:"bytes"`
	Objects float64 `json:"objects"`
}

func init() { evidence.Register(Name, func() evidence.Result { return &Result{} }) }

// Of is that of samples; nil where nobody asked. workers lists a master's workers: the requests of one are known where all
// of its workers were sampled.
func Of(l worker.Looks, duration time.Duration, workers func(master int) ([]int, error)) *Result {
	a := l.Allocations
	if a == nil {
		return nil
	}
	r := &Result{
		Began: a.Began.UTC(), Duration: duration, Elapsed: a.Elapsed, Bytes: a.Bytes, Low: a.Low, High: a.High, Objects: a.Blocks,
		Requests: requests(a.Served, workers), Probed: a.Probed, Windows: a.Windows, Samples: len(l.Samples), Counted: a.CountedBytes,
		Blocks: a.CountedBlocks, Traps: a.Traps, Each: a.Each, Cost: a.Cost, Inside: a.Inside, Used: a.Used, Budget: a.Budget,
		HeapBefore: a.HeapBefore, HeapAfter: a.HeapAfter,
	}
	squares := 0.0
	for _, s := range l.Samples {
		squares += s.Allocation.Bytes * s.Allocation.Bytes
		name := "(outside of Lua)"
		if s.Lua {
			name = worker.InnermostLua(s.Stack).Where()
		}
		r.Lines = append(r.Lines, Line{Name: name, Bytes: s.Allocation.Bytes, Objects: s.Allocation.Blocks})
	}
	r.Effective = effective(r.Bytes, squares)
	return r.grouped()
}

// effective is how many samples of equal weight tell as much.
func effective(bytes, squares float64) float64 {
	if squares == 0 {
		return 0
	}
	return bytes * bytes / squares
}

// grouped adds up lines that are the same, that with the most bytes first.
func (r *Result) grouped() *Result {
	r.Lines = evidence.Group(r.Lines, func(l Line) string { return l.Name }, func(to *Line, one Line) {
		to.Bytes += one.Bytes
		to.Objects += one.Objects
	})
	for i := range r.Lines {
		r.Lines[i].Share = r.Lines[i].Bytes / max(1, r.Bytes)
	}
	slices.SortStableFunc(r.Lines, func(a, b Line) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return r
}

// Merge is both together. Low and High are then as if what is not known of both went the same way: an upper bound.
func (r *Result) Merge(other evidence.Result) evidence.Result {
	o, both := other.(*Result), *r
	if o.Began.Before(r.Began) {
		both.Began = o.Began
	}
	end := r.Began.Add(r.Duration)
	if e := o.Began.Add(o.Duration); e.After(end) {
		end = e
	}
	both.Duration = end.Sub(both.Began)
	both.Elapsed += o.Elapsed
	both.Bytes, both.Low, both.High, both.Objects = r.Bytes+o.Bytes, r.Low+o.Low, r.High+o.High, r.Objects+o.Objects
	if both.Requests += o.Requests; r.Requests == 0 || o.Requests == 0 {
		both.Requests = 0 // not known of one
	}
	both.Probed += o.Probed
	both.Windows += o.Windows
	both.Samples += o.Samples
	squares := 0.0
	for _, one := range []*Result{r, o} {
		if one.Effective > 0 {
			squares += one.Bytes * one.Bytes / one.Effective
		}
	}
	both.Effective = effective(both.Bytes, squares)
	both.Counted += o.Counted
	both.Blocks += o.Blocks
	both.Traps += o.Traps
	both.Each = max(r.Each, o.Each)
	both.Cost, both.Inside, both.Used = r.Cost+o.Cost, r.Inside+o.Inside, r.Used+o.Used
	both.Budget = max(r.Budget, o.Budget)
	both.HeapBefore += o.HeapBefore
	both.HeapAfter += o.HeapAfter
	both.Lines = slices.Concat(r.Lines, o.Lines)
	return both.grouped()
}

// Metrics writes nothing: they are sampled for a while, not all the time.
func (r *Result) Metrics(*metrics.Page, ...string) {}

// requests are those that were served meanwhile; 0 where a master has workers that were not sampled.
func requests(masters map[int]worker.Served, workers func(master int) ([]int, error)) (n uint64) {
	for master, served := range masters {
		all, err := workers(master)
		if err != nil || slices.ContainsFunc(all, func(pid int) bool { return !slices.Contains(served.Workers, pid) }) {
			return 0
		}
		n += served.Requests
	}
	return n
}
