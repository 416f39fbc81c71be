package watch

import (
	"slices"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/process"
)

// A Master is one nginx over an interval: what its workers share.
type Master struct {
	Shared   `json:"head"`
	Evidence evidence.Set `json:"evidence"` // that was asked for, of the workers that are watched together
}

// Shared is what the workers of an nginx share.
type Shared struct {
	PID     int  `json:"pid"`
	Watched int  `json:"workers_watched"`
	All     bool `json:"all_workers"` // those are all that it has

	Counters   *nginx.Counters `json:"counters"`               // at the interval's end; nil: not known
	Accepted   float64         `json:"connections_per_second"` // that were accepted
	Requests   float64         `json:"requests_per_second"`
	PerRequest *PerRequest     `json:"per_request"` // nil: no requests, or not all workers were watched
	Zones      []nginx.Zone    `json:"zones"`
	Unknown    string          `json:"unknown,omitempty"` // why there are no counters
}

// PerRequest is what all workers together took for one request, on average over the interval.
type PerRequest struct {
	CPU    float64                   `json:"cpu_ns"`
	Wait   float64                   `json:"run_queue_ns"` // wanted to run, but other processes did
	Read   float64                   `json:"read_bytes"`
	Write  float64                   `json:"write_bytes"`
	Events map[process.Event]float64 `json:"events"`
}

// masters puts the rows of the workers of each nginx together. workers lists a master's workers.
func masters(rows []Row, workers func(master int) ([]int, error)) []Master {
	var all []Master
	for _, r := range rows {
		if r.Error != "" || slices.ContainsFunc(all, func(m Master) bool { return m.PID == r.Master }) {
			continue
		}
		var own []Row
		for _, other := range rows {
			if other.Error == "" && other.Master == r.Master {
				own = append(own, other)
			}
		}
		all = append(all, masterOf(own, workers))
	}
	return all
}

func masterOf(rows []Row, workers func(master int) ([]int, error)) Master {
	first := rows[0].moment
	m := Master{Shared: Shared{PID: rows[0].Master, Watched: len(rows), Zones: first.span.zones}}
	for _, r := range rows {
		m.Evidence = m.Evidence.Merge(r.asked)
	}
	if there, err := workers(m.PID); err == nil {
		m.All = !slices.ContainsFunc(there, func(pid int) bool {
			return !slices.ContainsFunc(rows, func(r Row) bool { return r.PID == pid })
		})
	}
	if first.span.err != nil {
		m.Unknown = first.span.err.Error()
		return m
	}
	from, to := first.span.from, first.span.to
	m.Counters = &to
	elapsed := first.usage.At.Sub(first.began.At)
	m.Accepted = perSecond(from.Accepted, to.Accepted, elapsed)
	m.Requests = perSecond(from.Requests, to.Requests, elapsed)
	if served := to.Requests - from.Requests; m.All && to.Requests > from.Requests {
		m.PerRequest = perRequest(rows, float64(served))
	}
	return m
}

func perRequest(rows []Row, served float64) *PerRequest {
	p := &PerRequest{Events: map[process.Event]float64{}}
	for _, r := range rows {
		m := r.moment
		p.CPU += float64(m.usage.CPU-m.began.CPU) / served
		p.Wait += float64(m.usage.Wait-m.began.Wait) / served
		p.Read += float64(m.usage.Read-m.began.Read) / served
		p.Write += float64(m.usage.Write-m.began.Write) / served
		for event, n := range m.events {
			p.Events[event] += float64(n-m.eventsBegan[event]) / served
		}
	}
	return p
}
