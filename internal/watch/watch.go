// Package watch turns what is read of nginx workers at the ends of an interval into rates.
package watch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/worker"
)

// A Row is one worker over one interval. Shares are parts of the interval, from 0 to 1; rates are per
// second.
type Row struct {
	PID         int                `json:"pid"`
	CPU         float64            `json:"cpu_share"`
	Wait        float64            `json:"run_queue_share"` // wanted to run, but other processes did
	Lua         float64            `json:"lua_share"`       // Lua was on the stack
	States      map[string]float64 `json:"states"`          // of that time: compiled, interpreted, …
	Busiest     string             `json:"busiest_request"` // URI that Lua ran for most often; "": none
	Heap        uint64             `json:"lua_heap_bytes"`
	Traces      int                `json:"traces"`
	RSS         uint64             `json:"rss_bytes"`
	Sockets     int                `json:"sockets"` // -1: not known
	Voluntary   float64            `json:"voluntary_switches"`
	Involuntary float64            `json:"involuntary_switches"`
	MajorFaults float64            `json:"major_faults"`
	Read        float64            `json:"read_bytes"`
	Write       float64            `json:"write_bytes"`
	Error       string             `json:"error,omitempty"` // why the other fields are empty
}

// Interval watches a worker for an interval.
func Interval(ctx context.Context, w *worker.Worker, duration time.Duration) Row {
	before, err := w.Usage()
	if err != nil {
		return Row{PID: w.PID, Error: err.Error()}
	}
	glances := w.Glance(ctx, duration)
	after, err := w.Usage()
	if err != nil {
		return Row{PID: w.PID, Error: fmt.Sprintf("it ended meanwhile: %v", err)}
	}
	return row(w.PID, before, after, glances)
}

func row(pid int, before, after worker.Usage, g worker.Glances) Row {
	elapsed := after.At.Sub(before.At)
	rate := func(from, to uint64) float64 {
		if to < from || elapsed <= 0 {
			return 0
		}
		return float64(to-from) / elapsed.Seconds()
	}
	share := func(from, to time.Duration) float64 {
		return max(0, min(1, float64(to-from)/float64(max(elapsed, 1))))
	}
	r := Row{
		PID: pid, CPU: share(before.CPU, after.CPU), Wait: share(before.Wait, after.Wait),
		States: map[string]float64{}, Busiest: busiest(g.Requests), Heap: g.InUse, Traces: g.Traces,
		RSS: after.RSS, Sockets: after.Sockets,
		Voluntary: rate(before.Voluntary, after.Voluntary), Involuntary: rate(before.Involuntary, after.Involuntary),
		MajorFaults: rate(before.MajorFaults, after.MajorFaults),
		Read:        rate(before.Read, after.Read), Write: rate(before.Write, after.Write),
	}
	if g.Count > 0 {
		r.Lua = float64(g.Lua) / float64(g.Count)
	}
	for state, n := range g.States {
		r.States[state.String()] = float64(n) / float64(g.Lua)
	}
	return r
}

// busiest is the request of most glances, the first by name of several.
func busiest(requests map[string]int) (uri string) {
	for name, n := range requests {
		if best := requests[uri]; n > best || n == best && strings.Compare(name, uri) < 0 {
			uri = name
		}
	}
	return uri
}

// StateOf is the state that Lua was in most often, or "".
func (r Row) StateOf() string {
	names := make([]string, 0, len(r.States))
	for _, s := range []luajit.State{luajit.Compiled, luajit.Interpreted, luajit.InC, luajit.Collect} {
		if r.States[s.String()] > 0 {
			names = append(names, s.String())
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		switch d := r.States[b] - r.States[a]; {
		case d > 0:
			return 1
		case d < 0:
			return -1
		}
		return 0
	})
	if len(names) == 0 {
		return ""
	}
	return names[0]
}
