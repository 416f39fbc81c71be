package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/bench"
	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/worker"
)

// profileHz is how often a second a case's process is looked at: it is no sample of the
// measurement, so it may be disturbed.
const profileHz = 499

// profilers make a profiler for each case; close afterwards.
func profilers(ctx context.Context, sys Sys) (of func(name string) bench.Profiler, close func() error, err error) {
	o := profileOptions{by: byAuto, hz: profileHz, mode: modes[0]}
	by, err := o.openWay(sys)
	if err != nil {
		return nil, nil, err
	}
	return func(name string) bench.Profiler {
		p := &caseProfiler{by: by, name: name, started: sys.Now()}
		p.during, p.stop = context.WithCancel(ctx)
		return p
	}, by.close, nil
}

// A caseProfiler samples the processes of one case.
type caseProfiler struct {
	by      way
	name    string
	started time.Time
	during  context.Context
	stop    func()
	wait    sync.WaitGroup

	lock sync.Mutex // of what follows
	all  []sampled
}

// Begin samples a process from now on. It may take a moment until it is seen, as when it makes traces.
func (p *caseProfiler) Begin(pid int) {
	f := following{by: p.by, duration: hours, Follower: follow.Follower{
		Find: fixed(pid), Expects: never, Open: worker.OpenProgram, Young: true, Patience: 2 * time.Second,
	}}
	p.wait.Go(func() {
		seen := f.until(p.during, p.during)
		p.lock.Lock()
		defer p.lock.Unlock()
		p.all = append(p.all, seen...)
	})
}

// Of processes that are known, and sampled until they end.
func fixed(pids ...int) func() ([]int, error) { return func() ([]int, error) { return pids, nil } }
func never() bool                             { return false }
func hours(int) time.Duration                 { return time.Hour }

// End ends all looking.
func (p *caseProfiler) End() (record.Profile, error) {
	p.stop()
	p.wait.Wait()
	series, err := together(p.all)
	out, chosen := series.Profile(sample.OnCPU, profile.Samples)
	if len(chosen.Samples) == 0 {
		return record.Profile{}, errors.Join(errors.New("no sample found it on the CPU"), err, series.LastErr)
	}
	out.Title, out.By, out.Start = fmt.Sprintf("%s, %s", p.name, sample.OnCPU), p.by.name(), p.started
	insideLoop(out)
	out.Merge()
	var b bytes.Buffer
	if err := out.WriteJSON(&b, record.Schema); err != nil {
		return record.Profile{}, err
	}
	return record.Profile{By: p.by.name(), Profile: bytes.TrimSpace(b.Bytes())}, nil
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
