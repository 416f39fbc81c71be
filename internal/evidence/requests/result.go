// Package requests is evidence of what workers of nginx have begun and not finished: requests, with their light threads.
package requests

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/metrics"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
)

// Name is that of the kind.
const Name = "requests"

// A Result is the requests in flight of some workers at a moment.
type Result struct {
	Workers []Worker `json:"workers"`
}

// A Worker is what one of them has in flight.
type Worker struct {
	PID    int               `json:"pid"`
	Count  int               `json:"in_flight"`
	Oldest []ngxlua.InFlight `json:"oldest"` // of these, the oldest first
}

func init() { evidence.Register(Name, func() evidence.Result { return &Result{} }) }

// Of is what a worker has in flight, the oldest first, of which up to most are listed.
func Of(pid int, all []ngxlua.InFlight, most int) *Result {
	return &Result{[]Worker{{pid, len(all), slices.Clone(all[:min(len(all), most)])}}}
}

// Merge is both together. Of a worker that both have, it is the later.
func (r *Result) Merge(other evidence.Result) evidence.Result {
	return &Result{evidence.Latest(r.Workers, other.(*Result).Workers, func(w Worker) int { return w.PID })}
}

// Age is that of the oldest request of all workers; 0: not known, or there is none.
func (r *Result) Age() (age time.Duration) {
	for _, w := range r.Workers {
		if len(w.Oldest) > 0 {
			age = max(age, w.Oldest[0].Age)
		}
	}
	return age
}

// one is a request with the worker that it belongs to.
type one struct {
	pid int
	ngxlua.InFlight
}

// all are the requests that are listed, the oldest first, and how many there are.
func (r *Result) all() (list []one, count int) {
	for _, w := range r.Workers {
		for _, q := range w.Oldest {
			list = append(list, one{w.PID, q})
		}
		count += max(w.Count, len(w.Oldest))
	}
	slices.SortStableFunc(list, func(a, b one) int { return cmp.Compare(b.Age, a.Age) })
	return list, count
}

// Metrics writes how many there are by phase, and the age of the oldest.
func (r *Result) Metrics(p *metrics.Page, labels ...string) {
	p.Family("worker_requests_in_flight", "gauge", "Requests begun and not finished, by phase whose Lua runs or waits; none: outside of Lua.")
	for _, w := range r.Workers {
		phases := map[string]int{}
		for _, q := range w.Oldest {
			phases[cmp.Or(q.Phase, "none")]++
		}
		phases["none"] += max(0, w.Count-len(w.Oldest))
		for _, phase := range slices.Sorted(maps.Keys(phases)) {
			p.Value(float64(phases[phase]), append(slices.Clone(labels), "phase", phase)...)
		}
	}
	p.Family("worker_oldest_request_seconds", "gauge", "Age of the oldest request in flight.")
	p.Value(r.Age().Seconds(), labels...)
}
