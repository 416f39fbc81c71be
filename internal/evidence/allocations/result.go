// Package allocations is evidence of what Lua allocates, and in which lines.
package allocations

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/sample"
)

// Name is that of the kind, and of its flag.
const Name = "allocations"

// A Result is what Lua has allocated: estimates for the whole time, of all workers together. An object is what one
// allocation makes; a table with entries may be three. Probed is the time in windows.
type Result struct {
	Began    time.Time     `json:"began"`
	Duration time.Duration `json:"duration_ns"` // since then
	probe.Duty
	Bytes      float64       `json:"bytes"`
	Low        float64       `json:"bytes_low"` // 95 %
	High       float64       `json:"bytes_high"`
	Objects    float64       `json:"objects"`
	Requests   uint64        `json:"requests"` // meanwhile; 0: not known, or none
	Windows    int           `json:"windows"`
	Samples    int           `json:"samples"`
	Effective  float64       `json:"effective_samples"` // that many samples of equal weight would say as much
	Counted    uint64        `json:"counted_bytes"`     // while it was probed
	Blocks     uint64        `json:"counted_objects"`
	Traps      int           `json:"traps"`
	Each       time.Duration `json:"cost_of_each_ns"`
	Inside     time.Duration `json:"cost_in_probed_ns"` // of the cost: while it was probed
	Used       time.Duration `json:"cpu_in_probed_ns"`  // CPU time of the workers then, with that cost
	HeapBefore uint64        `json:"heap_before_bytes"`
	HeapAfter  uint64        `json:"heap_after_bytes"`
	Lines      []Line        `json:"lines"` // innermost Lua lines, that with the most bytes first

	served map[int]served // by master, where it counts; nil: of a kept result, or not known
}

// A Line is what one line of Lua has allocated.
type Line struct {
	Name    string  `json:"name"`
	Share   float64 `json:"share"` // of the bytes
	Bytes   float64 `json:"bytes"`
	Objects float64 `json:"objects"`
}

func init() { evidence.Register(Name, func() evidence.Result { return &Result{} }) }

// of has the samples' lines, once their bytes are known.
func (r *Result) of(samples []sample.Sample) {
	squares := 0.0
	for _, s := range samples {
		squares += s.Bytes * s.Bytes
		name := "(outside of Lua)"
		if s.Lua {
			name = sample.InnermostLua(s.Stack).Where()
		}
		r.Lines = append(r.Lines, Line{Name: name, Bytes: s.Bytes, Objects: s.Objects})
	}
	r.Samples, r.Effective, r.Requests = len(samples), effective(r.Bytes, squares), requests(r.served)
	r.grouped()
}

// effective is the effective sample size: how many samples of equal weight are as exact.
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
	both.Duty = r.And(o.Duty)
	both.Bytes, both.Low, both.High, both.Objects = r.Bytes+o.Bytes, r.Low+o.Low, r.High+o.High, r.Objects+o.Objects
	both.serve(r, o)
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
	both.Inside, both.Used = r.Inside+o.Inside, r.Used+o.Used
	both.HeapBefore += o.HeapBefore
	both.HeapAfter += o.HeapAfter
	both.Lines = slices.Concat(r.Lines, o.Lines)
	return both.grouped()
}

// served is how many requests all workers of an nginx have begun, and which of the workers were sampled.
type served struct {
	workers, all []int
	known        bool // all is
	requests     uint64
}

// serve has the requests of both: of a master that both have workers of, they count once.
func (r *Result) serve(a, b *Result) {
	r.served = maps.Clone(a.served)
	for master, s := range b.served {
		if mine, there := r.served[master]; there {
			s.workers, s.requests = slices.Concat(mine.workers, s.workers), max(mine.requests, s.requests)
			s.known = s.known && mine.known
		}
		if r.served == nil {
			r.served = map[int]served{}
		}
		r.served[master] = s
	}
	switch r.Requests = a.Requests + b.Requests; {
	case r.served != nil:
		r.Requests = requests(r.served)
	case a.Requests == 0 || b.Requests == 0:
		r.Requests = 0 // not known of one
	}
}

// requests are those that were begun meanwhile; 0 where a master has workers that were not sampled.
func requests(masters map[int]served) (n uint64) {
	for _, s := range masters {
		if !s.known || slices.ContainsFunc(s.all, func(pid int) bool { return !slices.Contains(s.workers, pid) }) {
			return 0
		}
		n += s.requests
	}
	return n
}
