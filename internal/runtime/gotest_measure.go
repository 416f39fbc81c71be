package runtime

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// measureGo measures a case in a fresh process and hands on what it says as lines of the
// record; the last of them, which it returns, is to be sent when all is tidied up.
func (p *Process) measureGo(ctx context.Context, c *goCase) record.Exit {
	in := record.In{Process: p.spec.Job.Process}
	end, err := p.runCase(ctx, c)
	if err != nil {
		if ctx.Err() == nil {
			p.lines <- record.Fault{In: in, Case: p.spec.Job.Case, Kind: record.FaultStart, Text: err.Error()}
		}
		return record.Exit{Process: in.Process, Status: -1}
	}
	p.lines <- record.Process{
		In: in, Case: p.spec.Job.Case, Round: p.spec.Job.Round, PID: end.PID,
		Seed: p.spec.Job.Seed, VM: c.pkg.vm, Clock: goClock(),
	}
	fault := end.fault()
	if fault == nil {
		for _, line := range end.lines(in) {
			p.lines <- line
		}
		p.lines <- record.Finish{In: in, Stop: "enough", ElapsedNS: end.WallNS}
	} else {
		fault.In, fault.Case = in, p.spec.Job.Case
		p.lines <- *fault
	}
	exit := record.Exit{
		Process: in.Process, Status: end.Status, Signal: end.Signal, ElapsedNS: end.WallNS,
		CPUNS: end.UserNS + end.SystemNS, MaxRSS: end.MaxRSS, Stderr: end.Stderr,
	}
	if fault != nil {
		exit.Stdout = end.Stdout // else it is results for the most part
	}
	return exit
}

// runCase is one process of a case; where the case has failed before, it is that one.
func (p *Process) runCase(ctx context.Context, c *goCase) (*goEnd, error) {
	if c.failed != nil {
		return c.failed, nil
	}
	batches, failed, err := p.plan(ctx, c)
	if err != nil || failed != nil {
		return failed, err
	}
	return p.spec.Go.runTest(ctx, goRun{
		pkg: c.pkg, name: c.full, count: batches.count,
		calls:   batches.jittered(p.spec.Job.Seed, p.spec.Job.Process),
		env:     append(gcEnv(p.spec.Job.GC), p.pad()),
		timeout: p.spec.Timeout,
	})
}

// lines are the batches of a process, and what it reports beside their time.
func (e *goEnd) lines(in record.In) []record.Line {
	batches := record.Batches{In: in, Kind: record.Measure, Series: 1}
	others := map[string][]float64{}
	for _, r := range e.results() {
		batches.Calls = append(batches.Calls, r.calls)
		batches.NS = append(batches.NS, r.values["ns/op"]*float64(r.calls))
		for unit, x := range r.values {
			if unit != "ns/op" && x-x == 0 { // a record holds no infinities
				others[unit] = append(others[unit], x)
			}
		}
	}
	lines := []record.Line{batches}
	if bytes := others["B/op"]; len(bytes) > 0 {
		slices.Sort(bytes)
		lines = append(lines, record.Memory{In: in, Calls: batches.Calls[0], BytesPerCall: bytes[len(bytes)/2]})
		delete(others, "B/op")
	}
	for _, unit := range slices.Sorted(maps.Keys(others)) {
		lines = append(lines, record.Metric{In: in, Unit: unit, Values: others[unit]})
	}
	return lines
}

// goClock is the clock that package testing reads, which is ours as well.
var goClock = sync.OnceValue(func() record.Clock {
	const reads = 1000
	c := record.Clock{Source: "monotonic", Compiled: true}
	origin := time.Now()
	for range 20 {
		start := time.Since(origin)
		last := start
		for range reads {
			now := time.Since(origin)
			if step := float64(now - last); step > 0 {
				c.StepNS = min(cmp.Or(c.StepNS, step), step)
			}
			last = now
		}
		if cost := float64(last-start) / reads; cost > 0 {
			c.CostNS = min(cmp.Or(c.CostNS, cost), cost)
		}
	}
	return c
})
