package profiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/worker"
)

// Sides samples a server while load is on it. A sample is of the side whose slice it falls into.
type Sides struct {
	way     *Way
	note    func(string)
	during  context.Context
	stop    func()
	wait    sync.WaitGroup
	started time.Time
	names   []string
	end     *record.End // held back until the profiles are in the record
	write   func(record.Line) error

	lock   sync.Mutex // of what follows
	all    []Sampled
	failed error         // of what is observed beside the samples
	begun  time.Duration // the first slice, by CLOCK_MONOTONIC, as samples are
	slices []record.LoadSlice
	// What is observed beside the samples is asked for whenever a slice has ended: it is that side's.
	observing map[*observe.Observing]bool
	observed  []evidence.Set // by side
	asked     []int          // how often there was an answer, by side
}

// OpenSides prepares to sample a server whose sides have names, from now on; note is called with what goes wrong meanwhile. Close it.
func OpenSides(ctx context.Context, o Options, names []string, now time.Time, note func(string)) (*Sides, error) {
	way, err := Open(o, note)
	if err != nil {
		return nil, err
	}
	p := &Sides{way: way, note: note, started: now, names: names, observing: map[*observe.Observing]bool{},
		observed: make([]evidence.Set, len(names)), asked: make([]int, len(names))}
	if len(o.Beside) > 0 {
		way.began = p.began
	}
	p.during, p.stop = context.WithCancel(ctx)
	return p, nil
}

// Sample samples processes until the end, and returns when each is: on a busy machine to open one may take longer than a short
// run of load. One that is no worker, as nginx's master, is left alone.
func (p *Sides) Sample(pids []int) {
	const patience = 15 * time.Second
	opened := make(chan bool, len(pids))
	p.way.opened = func() {
		select {
		case opened <- true:
		default:
		}
	}
	p.wait.Go(func() {
		f := following{way: p.way, duration: hours, Follower: follow.Follower{Find: fixed(pids...), Expects: never, Open: worker.Open}}
		p.all = slices.DeleteFunc(f.until(p.during, p.during), func(l Sampled) bool { return l.series.Elapsed == 0 })
	})
	enough := time.After(patience)
	for range pids {
		select {
		case <-opened:
		case <-p.during.Done():
			return
		case <-enough:
			return
		}
	}
}

// Begin says when the load begins, by CLOCK_MONOTONIC. What was observed until now is of no side.
func (p *Sides) Begin(at time.Duration) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.begun = at
	p.ask(record.LoadSlice{Warmup: true})
}

// Heard takes in a slice that has ended.
func (p *Sides) Heard(s record.LoadSlice) {
	if s.Thread != 0 {
		return
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.slices = append(p.slices, record.LoadSlice{Side: s.Side, AtNS: s.AtNS, NS: s.NS, Warmup: s.Warmup})
	p.ask(s)
}

func (p *Sides) began(o *observe.Observing) (ends func()) {
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
func (p *Sides) ask(s record.LoadSlice) {
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
func (p *Sides) evidenceOf(side int) evidence.Set {
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

// Before holds back the record's last line, as the profiles stand before it.
func (p *Sides) Before(write func(record.Line) error) func(record.Line) error {
	p.write = write
	return func(l record.Line) error {
		if end, ok := l.(record.End); ok {
			p.end = &end
			return nil
		}
		return write(l)
	}
}

// Into ends the sampling, and adds a profile of each side to the record.
func (p *Sides) Into(rec *record.Record) {
	p.stop()
	p.wait.Wait()
	series, err := together(p.all)
	if len(series.Samples) == 0 {
		p.note(noSamples(p.way.Mode.Name, errors.Join(err, p.failed, series.LastErr)))
	} else if p.failed != nil {
		p.note(p.failed.Error())
	}
	for side, name := range p.names {
		if len(series.Samples) == 0 {
			break
		}
		line, err := p.profile(series, side, name)
		if err != nil {
			p.note(fmt.Sprintf("%s has no profile: %v", name, err))
			continue
		}
		rec.Profiles = append(rec.Profiles, line)
		p.keep(line)
	}
	if p.end != nil {
		p.keep(*p.end)
	}
}

// noSamples says that there is no profile of what was asked for, and why where that is known.
func noSamples(mode string, why error) string {
	text := "there is no profile: no sample of the server's " + mode
	if why != nil {
		return text + ": " + why.Error()
	}
	return text + "; a longer run (-d) has more"
}

func (p *Sides) keep(l record.Line) {
	if err := p.write(l); err != nil {
		p.note(err.Error())
	}
}

// profile is of the samples of one side.
func (p *Sides) profile(all sample.Series, side int, name string) (record.Profile, error) {
	own := all
	own.Samples = nil
	for _, s := range all.Samples {
		if len(p.names) == 1 && s.Time >= p.begun || len(p.names) > 1 && p.sideAt(s.Time) == side {
			own.Samples = append(own.Samples, s)
		}
	}
	if len(own.Samples) == 0 {
		return record.Profile{}, errors.New("no sample fell into its slices")
	}
	out, chosen := own.Profile(p.way.Mode.Name, cmp.Or(p.way.Unit(), profile.Samples))
	out.Evidence = p.evidenceOf(side).Merge(observe.OfSamples(own, chosen))
	line, err := p.way.kept(out, name, p.started)
	line.Case = side
	return line, err
}

// sideAt is the side whose slice a sample falls into, or -1.
func (p *Sides) sideAt(at time.Duration) int {
	since := float64(at - p.begun)
	i, found := slices.BinarySearchFunc(p.slices, since, func(s record.LoadSlice, since float64) int { return cmp.Compare(s.AtNS, since) })
	if !found {
		i--
	}
	if i < 0 || i >= len(p.slices) || p.slices[i].Warmup || since >= p.slices[i].AtNS+p.slices[i].NS {
		return -1
	}
	return p.slices[i].Side
}

// Close ends the sampling and gives back what OpenSides took.
func (p *Sides) Close() error {
	p.stop()
	p.wait.Wait()
	return p.way.Close()
}
