// Package load puts load on HTTP servers: it plans a run, starts the engine (lua/moonlap/load) and, where asked to, the
// server under test, follows what they say, and turns the record of it into results. Sides that are compared run in
// slices, in balanced random order, in one process with warm connections.
package load

import (
	"io"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// A Side is one endpoint under load.
type Side struct {
	runtime.LoadSide
	// Find asks for the server's processes when the run begins; nil: they are not known.
	Find func() []int
}

// Options say what to load, how and for how long.
type Options struct {
	Runtime record.Runtime // LuaJIT
	Sides   []Side
	Plan    record.Load // URLs and processes are filled in by Run
	// NoKeepalive opens a connection for every request.
	NoKeepalive bool
	// MemoryBytes is how much private memory a thread of the client may take; 0: all there is.
	MemoryBytes int64
	Comparing   *record.Comparing // nil: nothing is compared
	Seed        uint64
	ClientCPUs  []int
	// The script's own output.
	Stdout, Stderr io.Writer
	// Died is why the server under test is gone; nil: it is not, or nobody knows.
	Died func() error
	// Heard is called with every slice, before it is filed; it may be nil.
	Heard func(record.LoadSlice)
	// Part is this machine's of a load that several make; nil: it makes all of it.
	Part *Part
	// Began is called with the time at which the first slice began, by CLOCK_MONOTONIC; it may be nil.
	Began func(ns float64)
}

// A Part is one machine's share of a load. It begins when all can, and ends when who started it says so: whether all is
// decided shows where the records of all come together.
type Part struct {
	Index, Count  int
	Begin, Enough <-chan struct{}
}

// calls are those to begin and to end; none where this machine makes the whole load.
func (p *Part) calls() (begin, enough <-chan struct{}) {
	if p == nil {
		return nil, nil
	}
	return p.Begin, p.Enough
}

// drainRoom is how much longer it is from the begin of a slice to that of the next than the slice, where machines run
// slices together: for answers that are still to come. A slice that drains longer delays the next ones of its machine.
const drainRoom = 0.25

// leastRoom is the shortest of it, in ns.
const leastRoom = 1e7

// job is what the engine is told to do.
func (o Options) job() runtime.LoadJob {
	p := o.Plan
	job := runtime.LoadJob{
		Threads: p.Threads, Connections: p.Connections, DurationNS: p.DurationNS, Requests: p.Requests,
		Rate: p.Rate, Arrivals: p.Arrivals, Stages: p.Stages, SliceNS: p.SliceNS, WarmupNS: p.WarmupNS,
		TimeoutNS: p.TimeoutNS, Seed: float64(o.Seed), Pipeline: p.Pipeline, Protocol: p.Protocol,
		NoKeepalive: o.NoKeepalive, MemoryBytes: o.MemoryBytes,
	}
	if o.Part != nil {
		job.Waits, job.Part = true, float64(o.Part.Index)/float64(o.Part.Count)
		if len(o.Sides) > 1 {
			job.PitchNS = p.SliceNS + max(leastRoom, drainRoom*p.SliceNS)
		}
	}
	for i, s := range o.Sides {
		side := s.LoadSide
		side.PIDs = p.ServerPIDs[i]
		job.Sides = append(job.Sides, side)
	}
	return job
}

// cases are the sides as cases of a record.
func (o Options) cases() []record.Case {
	var cases []record.Case
	for i, s := range o.Sides {
		cases = append(cases, record.Case{
			Case: i, Name: s.Name, Benchmark: s.Name, Index: i, Runtime: record.RuntimeHTTP, GC: "natural",
			Concurrency: o.Plan.Connections, Rate: o.Plan.Rate, Workers: o.Plan.Threads, File: s.Script,
		})
	}
	if len(cases) > 1 {
		for i := range cases {
			cases[i].Side = cases[i].Name
		}
	}
	return cases
}

// A Progress tells how far a run is, and what its last slices were like.
type Progress struct {
	Elapsed, Left time.Duration
	Sides         func() []Live // reads histograms, so ask only when they are shown
	Comparisons   []record.Comparison
}

// Live is what a side did lately. Latencies are those of the last slice of one thread.
type Live struct {
	Name          string
	Rate          float64
	P50, P99, Max float64 // ns
	Errors        int64   // since the run began
}
