// Package collector is evidence of what Lua's garbage collector did over an interval.
package collector

import (
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/metrics"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// Name is that of the kind.
const Name = "collector"

// A Result is what the collectors of some workers did.
type Result struct {
	Workers []Worker `json:"workers"`
}

// A Worker is what one of them did. Rates are per second.
type Worker struct {
	PID       int             `json:"pid"`
	Share     record.Interval `json:"share"`  // of the interval that it held the worker
	Cycles    float64         `json:"cycles"` // that have marked what is in use
	Last      []Cycle         `json:"last_cycles"`
	Lowest    uint64          `json:"lowest_heap_bytes"`
	Highest   uint64          `json:"highest_heap_bytes"`
	Allocated record.Interval `json:"allocated_bytes"`        // the bounds are those of what is not known of it
	Longest   *Step           `json:"longest_step,omitempty"` // that was seen; nil: none was
	// Resolution is from one reading of the collector's state to the next, on average. Where it collects they are closer.
	Resolution time.Duration `json:"resolution_ns"`
	Missed     float64       `json:"missed_share"` // of the interval: between readings too far apart for Cycles

	AllCycles    int     `json:"all_cycles"` // in the whole time, not per second
	AllAllocated float64 `json:"all_allocated_bytes"`
}

func init() { evidence.Register(Name, func() evidence.Result { return &Result{} }) }

// Of is that of a worker, of whose samples it held the worker in some; nil where nothing was read.
func Of(pid int, c Collections, held, samples int) *Result {
	all := (c.Seen + c.Missed).Seconds()
	if all == 0 {
		return nil
	}
	one := Worker{
		PID: pid, Share: estimate.Share(held, max(1, samples)), Cycles: float64(c.Cycles) / max(c.Seen.Seconds(), 1e-9),
		Last: append([]Cycle{}, c.Last...), Lowest: c.Lowest, Highest: c.Highest, Resolution: c.Resolution, Missed: c.Missed.Seconds() / all,
		Allocated: record.Interval{Estimate: max(0, c.Allocated) / all, Low: max(0, c.Allocated-c.Guessed) / all, High: max(0, c.Allocated+c.Guessed) / all},
		AllCycles: c.Cycles, AllAllocated: max(0, c.Allocated),
	}
	if c.Longest.Most > 0 {
		one.Longest = &c.Longest
	}
	return &Result{[]Worker{one}}
}

// Merge is both together. Of a worker that both have, it is the later interval, with the cycles and bytes of both.
func (r *Result) Merge(other evidence.Result) evidence.Result {
	o := other.(*Result)
	both := &Result{evidence.Latest(r.Workers, o.Workers, func(w Worker) int { return w.PID })}
	for i := range both.Workers {
		w := &both.Workers[i]
		w.AllCycles, w.AllAllocated = 0, 0
		for _, one := range append(append([]Worker{}, r.Workers...), o.Workers...) {
			if one.PID == w.PID {
				w.AllCycles += one.AllCycles
				w.AllAllocated += one.AllAllocated
			}
		}
	}
	return both
}

// Metrics writes what the collector did; totals are of the whole time.
func (r *Result) Metrics(p *metrics.Page, labels ...string) {
	write := func(name, kind, help string, value func(Worker) float64) {
		p.Family("worker_lua_"+name, kind, help)
		for _, w := range r.Workers {
			p.Value(value(w), labels...)
		}
	}
	write("gc_cycles_total", "counter", "Cycles of Lua's garbage collector that were seen since the worker is watched.",
		func(w Worker) float64 { return float64(w.AllCycles) })
	write("allocated_bytes_total", "counter", "Bytes that Lua allocated since the worker is watched, by the collector's books.",
		func(w Worker) float64 { return w.AllAllocated })
	write("gc_ratio", "gauge", "Share of the last interval that the garbage collector held the worker.", func(w Worker) float64 { return w.Share.Estimate })
	write("heap_lowest_bytes", "gauge", "Least that Lua's heap had in the last interval.", func(w Worker) float64 { return float64(w.Lowest) })
	write("heap_highest_bytes", "gauge", "Most that Lua's heap had in the last interval.", func(w Worker) float64 { return float64(w.Highest) })
	for _, w := range r.Workers {
		if w.Longest != nil {
			p.Family("worker_lua_gc_longest_step_seconds", "gauge", "How long, at least, the longest took that the garbage collector did without a break in the last interval; 0: less than can be measured.")
			p.Value(w.Longest.Least.Seconds(), labels...)
		}
		if n := len(w.Last); n > 0 {
			p.Family("worker_lua_gc_last_cycle_seconds", "gauge", "How long the last cycle took that ended in the last interval.")
			p.Value(w.Last[n-1].Length.Seconds(), labels...)
		}
	}
}
