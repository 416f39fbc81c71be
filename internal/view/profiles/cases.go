package profiles

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/worker"
)

// caseHz is how often a second a case's process is sampled: it is no part of the measurement, so it may be disturbed.
const caseHz = 499

// OpenCases is a way to sample the processes of cases.
func OpenCases(warn func(string)) (*Way, error) {
	return Open(Options{By: Auto, Hz: caseHz, Mode: Modes[0]}, warn)
}

// Case samples the processes of a case until ctx ends.
func (w *Way) Case(ctx context.Context, name string, now time.Time) *Case {
	p := &Case{way: w, name: name, started: now}
	p.during, p.stop = context.WithCancel(ctx)
	return p
}

// A Case samples the processes of one case.
type Case struct {
	way     *Way
	name    string
	started time.Time
	during  context.Context
	stop    func()
	wait    sync.WaitGroup

	lock sync.Mutex // of what follows
	all  []Sampled
}

// Begin samples a process from now on. It may take a moment until it is seen, as when it makes traces.
func (p *Case) Begin(pid int) {
	f := following{way: p.way, duration: hours, Follower: follow.Follower{
		Find: fixed(pid), Expects: never, Open: worker.OpenProgram, Young: true, Patience: 2 * time.Second,
	}}
	p.wait.Go(func() {
		seen := f.until(p.during, p.during)
		p.lock.Lock()
		defer p.lock.Unlock()
		p.all = append(p.all, seen...)
	})
}

// End ends all sampling, and returns the profile.
func (p *Case) End() (record.Profile, error) {
	p.stop()
	p.wait.Wait()
	series, err := together(p.all)
	out, chosen := series.Profile(sample.OnCPU, profile.Samples)
	if len(chosen.Samples) == 0 {
		return record.Profile{}, errors.Join(errors.New("no sample found it on the CPU"), err, series.LastErr)
	}
	insideLoop(out)
	out.Merge()
	return p.way.kept(out, p.name, p.started)
}

// kept is a profile as a line of a record.
func (w *Way) kept(p *profile.Profile, name string, started time.Time) (record.Profile, error) {
	p.Title, p.By, p.Start = name+", "+w.Mode.Name, w.Name(), started
	var b bytes.Buffer
	if err := p.WriteJSON(&b); err != nil {
		return record.Profile{}, err
	}
	return record.Profile{By: p.By, Profile: bytes.TrimSpace(b.Bytes())}, nil
}

// The loop that calls a case, as lua/moonlap/bench/loop.lua names its chunk.
const loopChunk = "moonlap loop"

// insideLoop leaves of the stacks what the timed loop called, and drops the harness around it: its
// batches' bookkeeping is no part of the case. Where there is no such loop, as with code that yields,
// all stays.
func insideLoop(p *profile.Profile) {
	var inside []profile.Stack
	for _, s := range p.Stacks {
		at := slices.IndexFunc(s.Frames, func(f profile.Frame) bool { return f.Kind == profile.Lua && f.File == loopChunk })
		if at < 0 {
			continue
		}
		s.Frames = slices.Clone(s.Frames[at:])
		loop := &s.Frames[0]
		*loop = profile.Frame{Function: "timed loop", File: loopChunk, Kind: profile.Lua}
		inside = append(inside, s)
	}
	if len(inside) > 0 {
		p.Stacks = inside
	}
}
