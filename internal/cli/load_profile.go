package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/worker"
)

// loadHz is how often a second the server is sampled under load: often enough for a profile of each side in half a minute, and
// both sides pay for it alike.
const loadHz = 199

// A loadProfiler samples the server while load is on it. The samples of a moment are of the side whose slice it falls into.
type loadProfiler struct {
	sys     Sys
	by      looker
	during  context.Context
	stop    func()
	wait    sync.WaitGroup
	started time.Time
	names   []string
	end     *record.End // held back until the profiles are in the record
	write   func(record.Line) error

	lock   sync.Mutex // of what follows
	all    []looked
	begun  time.Duration // the first slice, by CLOCK_MONOTONIC, as samples are
	slices []record.LoadSlice
}

func openLoadProfiler(ctx context.Context, sys Sys, o *load.Options) (*loadProfiler, error) {
	by, err := (&profileOptions{by: byAuto, hz: loadHz, mode: modes[0]}).openLooker(sys)
	if err != nil {
		return nil, err
	}
	p := &loadProfiler{sys: sys, by: by, started: sys.Now()}
	p.during, p.stop = context.WithCancel(ctx)
	for _, s := range o.Sides {
		p.names = append(p.names, s.Name)
	}
	pids := map[int]bool{}
	for _, s := range o.Sides {
		if s.Find == nil {
			continue
		}
		for _, pid := range s.Find() {
			pids[pid] = true
		}
	}
	o.Began = func(ns float64) {
		p.lock.Lock()
		p.begun = time.Duration(ns)
		p.lock.Unlock()
		p.wait.Go(func() { p.follow(slices.Collect(maps.Keys(pids))) })
	}
	o.Heard = func(s record.LoadSlice) {
		if s.Thread == 0 {
			p.lock.Lock()
			p.slices = append(p.slices, record.LoadSlice{Side: s.Side, AtNS: s.AtNS, NS: s.NS, Warmup: s.Warmup})
			p.lock.Unlock()
		}
	}
	if len(pids) == 0 {
		return nil, errors.Join(p.close(), errors.New("no process of the server is known here, so there is no profile: name it with --server-pid"))
	}
	return p, nil
}

// follow samples processes until the end. One that is no worker, as nginx's master, is left alone.
func (p *loadProfiler) follow(pids []int) {
	f := following{by: p.by, duration: hours, Follower: follow.Follower{Find: fixed(pids...), Expects: never, Open: worker.Open}}
	p.all = slices.DeleteFunc(f.until(p.during, p.during), func(l looked) bool { return l.looks.Elapsed == 0 })
}

// before holds back the record's last line, as the profiles stand before it.
func (p *loadProfiler) before(write func(record.Line) error) func(record.Line) error {
	p.write = write
	return func(l record.Line) error {
		if end, ok := l.(record.End); ok {
			p.end = &end
			return nil
		}
		return write(l)
	}
}

// into ends the sampling, and adds a profile of each side to the record.
func (p *loadProfiler) into(rec *record.Record) {
	p.stop()
	p.wait.Wait()
	looks, err := together(p.all)
	chosen := looks.Only(worker.OnCPU)
	if len(chosen.Samples) == 0 {
		note(p.sys, fmt.Sprintf("no sample found the server on the CPU, so there is no profile: %v", errors.Join(err, looks.LastErr)))
	}
	for side, name := range p.names {
		line, err := p.profile(chosen, side, name)
		if err != nil {
			note(p.sys, fmt.Sprintf("%s has no profile: %v", name, err))
			continue
		}
		rec.Profiles = append(rec.Profiles, line)
		p.keep(line)
	}
	if p.end != nil {
		p.keep(*p.end)
	}
}

func (p *loadProfiler) keep(l record.Line) {
	if err := p.write(l); err != nil {
		note(p.sys, err.Error())
	}
}

// profile is of the samples of one side.
func (p *loadProfiler) profile(all worker.Looks, side int, name string) (record.Profile, error) {
	own := all
	if len(p.names) > 1 {
		own.Samples = nil
		for _, s := range all.Samples {
			if p.sideAt(s.Time) == side {
				own.Samples = append(own.Samples, s)
			}
		}
	}
	if len(own.Samples) == 0 {
		return record.Profile{}, errors.New("no sample fell into its slices")
	}
	out, _ := own.Profile(worker.OnCPU, profile.Samples)
	out.Title, out.By, out.Start = fmt.Sprintf("%s, %s", name, worker.OnCPU), p.by.name(), p.started
	var b bytes.Buffer
	if err := out.WriteJSON(&b, record.Schema); err != nil {
		return record.Profile{}, err
	}
	return record.Profile{Case: side, By: p.by.name(), Profile: bytes.TrimSpace(b.Bytes())}, nil
}

// sideAt is the side whose slice a moment falls into, or -1.
func (p *loadProfiler) sideAt(at time.Duration) int {
	since := float64(at - p.begun)
	i, found := slices.BinarySearchFunc(p.slices, since, func(s record.LoadSlice, since float64) int {
		switch {
		case s.AtNS > since:
			return 1
		case s.AtNS < since:
			return -1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 || i >= len(p.slices) || p.slices[i].Warmup || since >= p.slices[i].AtNS+p.slices[i].NS {
		return -1
	}
	return p.slices[i].Side
}

func (p *loadProfiler) close() error {
	p.stop()
	p.wait.Wait()
	return p.by.close()
}
