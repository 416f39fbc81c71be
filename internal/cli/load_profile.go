package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/worker"
)

// loadHz is how often a second the server is sampled under load: often enough for a profile of each side in half a minute, and
// both sides pay for it alike.
const loadHz = 199

// addLoadModes adds flags for what the profile counts, and for what is observed beside it.
func (o *profileOptions) addLoadModes(f *pflag.FlagSet) {
	o.by, o.hz, o.budget = byAuto, loadHz, 0.01
	for _, m := range modes {
		if m.name != sample.OnCPU && m.name != sample.Stalls {
			f.Bool(m.name, false, "the profile is of "+m.usage)
		}
	}
	o.evidence.addFlags(f, profileKinds)
}

// completeLoadModes takes what was asked for.
func (o *profileOptions) completeLoadModes(f *pflag.FlagSet) error {
	o.mode = chosenMode(f)
	return o.checkObserved(false)
}

// A loadProfiler samples the server while load is on it. The samples of a moment are of the side whose slice it falls into.
type loadProfiler struct {
	sys     Sys
	by      way
	during  context.Context
	stop    func()
	wait    sync.WaitGroup
	started time.Time
	names   []string
	end     *record.End // held back until the profiles are in the record
	write   func(record.Line) error

	lock   sync.Mutex // of what follows
	all    []sampled
	failed error         // of what is observed beside the samples
	begun  time.Duration // the first slice, by CLOCK_MONOTONIC, as samples are
	slices []record.LoadSlice
	// What is observed beside the samples is asked for whenever a slice has ended: it is that side's.
	observing map[*observe.Observing]bool
	observed  []evidence.Set // by side
	asked     []int          // how often there was an answer, by side
}

func openLoadProfiler(ctx context.Context, sys Sys, counted profileOptions, o *load.Options) (*loadProfiler, error) {
	by, err := counted.openWay(sys)
	if err != nil {
		return nil, err
	}
	p := &loadProfiler{sys: sys, by: by, started: sys.Now(), observing: map[*observe.Observing]bool{},
		observed: make([]evidence.Set, len(o.Sides)), asked: make([]int, len(o.Sides))}
	if len(counted.evidence.wanted()) > 0 {
		p.by.began = p.began
	}
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
			p.ask(s)
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
	p.all = slices.DeleteFunc(f.until(p.during, p.during), func(l sampled) bool { return l.series.Elapsed == 0 })
}

func (p *loadProfiler) began(o *observe.Observing) (ends func()) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.observing[o] = true
	return func() {
		p.lock.Lock()
		defer p.lock.Unlock()
		delete(p.observing, o)
	}
}

// ask files what was observed since the slice before as the side's whose slice has ended. The first milliseconds of the
// next slice are in it. The lock is held.
func (p *loadProfiler) ask(s record.LoadSlice) {
	if len(p.observing) == 0 || s.Side >= len(p.observed) {
		return
	}
	var all evidence.Set
	for o := range p.observing {
		results, err := o.Results()
		if err != nil {
			p.failed = err
		}
		all = all.Merge(results)
	}
	if !s.Warmup {
		p.observed[s.Side] = p.observed[s.Side].Merge(all)
		p.asked[s.Side]++
	}
}

// evidenceOf is what was observed of a side beside its samples.
func (p *loadProfiler) evidenceOf(side int) evidence.Set {
	set := evidence.Set{}
	for kind, result := range p.observed[side] {
		if r, ok := result.(interface {
			Over(times int) evidence.Result
		}); ok {
			result = r.Over(p.asked[side])
		}
		set[kind] = result
	}
	return set
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
	series, err := together(p.all)
	if len(series.Samples) == 0 {
		note(p.sys, fmt.Sprintf("no sample found the server %s, so there is no profile: %v", p.by.mode.name, errors.Join(err, p.failed, series.LastErr)))
	} else if p.failed != nil {
		note(p.sys, p.failed.Error())
	}
	for side, name := range p.names {
		line, err := p.profile(series, side, name)
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
func (p *loadProfiler) profile(all sample.Series, side int, name string) (record.Profile, error) {
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
	out, chosen := own.Profile(p.by.mode.name, cmp.Or(p.by.unit(), profile.Samples))
	out.Title, out.By, out.Start = fmt.Sprintf("%s, %s", name, p.by.mode.name), p.by.name(), p.started
	out.Evidence = p.evidenceOf(side).Merge(ofSamples(own, chosen))
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
