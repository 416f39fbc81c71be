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
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/worker"
)

// profileHz is how often a second a case's process is looked at: it is no sample of the
// measurement, so it may be disturbed.
const profileHz = 499

// profilers make a profiler for each case; close afterwards.
func profilers(ctx context.Context, sys Sys) (of func(name string) bench.Profiler, close func() error, err error) {
	o := profileOptions{by: byAuto, hz: profileHz, mode: modes[0]}
	by, err := o.openLooker(sys)
	if err != nil {
		return nil, nil, err
	}
	return func(name string) bench.Profiler {
		p := &caseProfiler{by: by, name: name, started: sys.Now()}
		p.during, p.stop = context.WithCancel(ctx)
		return p
	}, by.close, nil
}

// A caseProfiler looks at the processes of one case.
type caseProfiler struct {
	by      looker
	name    string
	started time.Time
	during  context.Context
	stop    func()
	wait    sync.WaitGroup

	lock  sync.Mutex // of what follows
	looks worker.Looks
	err   error
}

// Begin looks at a process from now on.
func (p *caseProfiler) Begin(pid int) {
	p.wait.Go(func() {
		w, err := p.open(pid)
		var seen looked
		if err == nil {
			defer w.Close()
			const long = time.Hour
			seen = p.by.look(p.during, w, long, func(time.Duration) {})
			err = seen.err
		}
		if errors.Is(err, worker.ErrEnded) || p.during.Err() != nil {
			err = nil
		}
		p.lock.Lock()
		defer p.lock.Unlock()
		p.looks, p.err = p.looks.And(seen.looks), errors.Join(p.err, err)
	})
}

// open opens a process that has begun; it may take a moment to be seen, as when it makes traces.
func (p *caseProfiler) open(pid int) (*worker.Worker, error) {
	for pause := time.Millisecond; ; pause *= 2 {
		w, err := worker.OpenProgram(pid)
		if err == nil || pause > time.Second {
			return w, err
		}
		select {
		case <-p.during.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// End ends all looking.
func (p *caseProfiler) End() (record.Profile, error) {
	p.stop()
	p.wait.Wait()
	out, chosen := p.looks.Profile(worker.OnCPU, profile.Samples)
	if len(chosen.Samples) == 0 {
		return record.Profile{}, errors.Join(errors.New("no sample found it on the CPU"), p.err, p.looks.LastErr)
	}
	out.Title, out.By, out.Start = fmt.Sprintf("%s, %s", p.name, worker.OnCPU), p.by.name(), p.started
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
