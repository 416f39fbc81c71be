package gotest

import (
	"context"
	"maps"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// Measure measures a case in a fresh process.
func (t *Tests) Measure(ctx context.Context, spec runtime.Spec, send func(record.Line)) (record.Exit, error) {
	c, job := t.cases[spec.Job.Index], spec.Job
	in := record.In{Process: job.Process}
	end, err := t.runCase(ctx, spec, c)
	if err != nil {
		if ctx.Err() == nil {
			send(record.Fault{In: in, Case: job.Case, Kind: record.FaultStart, Text: err.Error()})
		}
		return record.Exit{Process: in.Process, Status: -1}, nil
	}
	send(record.Process{
		In: in, Case: job.Case, Round: job.Round, PID: end.PID,
		Seed: job.Seed, VM: c.pkg.vm, Clock: runtime.Clock(),
	})
	fault := end.fault()
	if fault == nil {
		for _, line := range end.lines(in) {
			send(line)
		}
		send(record.Finish{In: in, Stop: "enough", ElapsedNS: end.WallNS})
	} else {
		fault.In, fault.Case = in, job.Case
		send(*fault)
	}
	exit := record.Exit{
		Process: in.Process, Status: end.Status, Signal: end.Signal, ElapsedNS: end.WallNS,
		CPUNS: end.UserNS + end.SystemNS, MaxRSS: end.MaxRSS, Stderr: end.Stderr,
	}
	if fault != nil {
		exit.Stdout = end.Stdout // else it is results for the most part
	}
	return exit, nil
}

// runCase is one process of a case; where the case has failed before, it is that one.
func (t *Tests) runCase(ctx context.Context, spec runtime.Spec, c *benchCase) (*testEnd, error) {
	if c.failed != nil {
		return c.failed, nil
	}
	batches, failed, err := t.plan(ctx, spec, c)
	if err != nil || failed != nil {
		return failed, err
	}
	return t.runTest(ctx, testRun{
		pkg: c.pkg, name: c.full, count: batches.count,
		calls:   batches.jittered(spec.Job.Seed, spec.Job.Process),
		env:     append(gcEnv(spec.Job.GC), spec.Job.Pad()),
		timeout: spec.Timeout,
	})
}

// lines are the batches of a process, and what it reports beside their time.
func (e *testEnd) lines(in record.In) []record.Line {
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
