package watch

import (
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/worker"
)

// A Collector is what Lua's garbage collector has done over an interval. Rates are per second.
type Collector struct {
	Share     Share   `json:"share"`  // of the interval that it held the worker
	Cycles    float64 `json:"cycles"` // that have marked what is in use
	Last      []Cycle `json:"last_cycles"`
	Lowest    uint64  `json:"lowest_heap_bytes"`
	Highest   uint64  `json:"highest_heap_bytes"`
	Allocated Share   `json:"allocated_bytes"` // the bounds are those of what is not known of it
	Longest   *Step   `json:"longest_step"`    // that was seen; nil: none was
	// Resolution is from one reading of the collector's state to the next, on average. Where it collects they are closer.
	Resolution time.Duration `json:"resolution_ns"`
	Missed     float64       `json:"missed_share"` // of the interval: between readings too far apart for Cycles
}

// A Cycle is one of the collector's.
type Cycle struct {
	Length time.Duration `json:"length_ns"`
	Marked uint64        `json:"marked_heap_bytes"` // in use when all that is in use was marked
	Left   uint64        `json:"left_bytes"`        // of these, what was not freed
}

// A Step is the longest that the collector did without a break.
type Step struct {
	Least time.Duration `json:"at_least_ns"`
	Most  time.Duration `json:"at_most_ns"`
	Phase string        `json:"phase"`
}

// collector fills in what the collector did.
func (r *Row) collector(g worker.Glances) {
	c := g.Collections
	if c.Err != nil {
		r.unknown("what the garbage collector did", c.Err)
	}
	all := (c.Seen + c.Missed).Seconds()
	if all == 0 {
		return
	}
	share := stat.Share(g.States[luajit.Collect], max(1, g.Count))
	r.Collector = &Collector{
		Share: Share{share.Estimate, share.Low, share.High}, Cycles: float64(c.Cycles) / max(c.Seen.Seconds(), 1e-9), Last: []Cycle{},
		Lowest: c.Lowest, Highest: c.Highest, Resolution: c.Resolution, Missed: c.Missed.Seconds() / all,
		Allocated: Share{max(0, c.Allocated) / all, max(0, c.Allocated-c.Guessed) / all, max(0, c.Allocated+c.Guessed) / all},
	}
	for _, one := range c.Last {
		r.Collector.Last = append(r.Collector.Last, Cycle{one.Length, one.Marked, one.Left})
	}
	if c.Longest.Most > 0 {
		r.Collector.Longest = &Step{c.Longest.Least, c.Longest.Most, c.Longest.Phase.String()}
	}
	r.moment.cycles, r.moment.allocated = c.Cycles, max(0, c.Allocated)
}
