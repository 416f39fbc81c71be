package worker

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
)

// LockTimes is how long locks of shared memory were waited for and held.
type LockTimes struct {
	Elapsed time.Duration // since the probe began, of all workers together
	Probed  time.Duration // of that: it was attached
	Taken   int           // locks, meanwhile
	Each    time.Duration // what the probe costs a lock, at most: see cost
	Cost    time.Duration // CPU time that it took from the workers, at most
	Budget  float64       // which share of Elapsed that may be
	Bursts  int           // how often it was attached
	Zones   []ZoneLock    // by name
}

// A ZoneLock is the lock of one zone of shared memory; or OtherLock, all the others.
type ZoneLock struct {
	Zone         string
	Waits, Holds Spans
}

// Spans are times.
type Spans = probe.Spans

// And is the times of both.
func (l LockTimes) And(o LockTimes) LockTimes {
	l.Elapsed += o.Elapsed
	l.Probed += o.Probed
	l.Taken += o.Taken
	l.Each = max(l.Each, o.Each)
	l.Cost += o.Cost
	l.Budget = max(l.Budget, o.Budget)
	l.Bursts += o.Bursts
	l.Zones = slices.Clone(l.Zones)
	for _, z := range o.Zones {
		l.add(z)
	}
	return l
}

// Since is what has been timed since an earlier time of the same probe, in the zones whose locks were taken.
func (l LockTimes) Since(o LockTimes) LockTimes {
	l.Elapsed -= o.Elapsed
	l.Probed -= o.Probed
	l.Taken -= o.Taken
	l.Cost = time.Duration(l.Taken) * l.Each
	l.Bursts -= o.Bursts
	var zones []ZoneLock
	for _, z := range l.Zones {
		for _, before := range o.Zones {
			if before.Zone == z.Zone {
				z.Waits, z.Holds = z.Waits.Since(before.Waits), z.Holds.Since(before.Holds)
			}
		}
		if z.Waits.Count() > 0 || z.Holds.Count() > 0 {
			zones = append(zones, z)
		}
	}
	l.Zones = zones
	return l
}

func (l *LockTimes) add(z ZoneLock) {
	i, found := slices.BinarySearchFunc(l.Zones, z.Zone, func(a ZoneLock, name string) int { return strings.Compare(a.Zone, name) })
	if !found {
		l.Zones = slices.Insert(l.Zones, i, ZoneLock{Zone: z.Zone})
	}
	l.Zones[i].Waits = l.Zones[i].Waits.And(z.Waits)
	l.Zones[i].Holds = l.Zones[i].Holds.And(z.Holds)
}

// A LockProbe times the locks of one worker, once.
type LockProbe struct {
	probe  *probe.LockProbe
	zones  locks
	budget float64

	release func() // of the worker, which it has in hand while it is attached

	lock     sync.Mutex    // of what follows: Times may be asked for while Run goes on
	began    time.Time     // Run did; zero: not yet
	attached time.Duration // since when the probe is, see probe.Now; 0: it is not
	times    LockTimes     // as last read; Elapsed is set by Times
	err      error         // what Run ended with
}

// ProbeLocks prepares to time the worker's locks, at a cost of at most a share of one processor (0.01: 1 %). Its
// error may be probe.ErrDear.
func (w *Worker) ProbeLocks(s *Sampler, budget float64) (*LockProbe, error) {
	const lock, unlock = "ngx_shmtx_lock", "ngx_shmtx_unlock"
	w.locks.find(w)
	program, err := w.FindObject(lock, unlock)
	if err != nil {
		return nil, fmt.Errorf("--locks: %w", err)
	}
	t := probe.LockTarget{PID: w.PID}
	for _, f := range []struct {
		name string
		at   *probe.LockFunction
		find func(string, []byte) (probe.LockFunction, error)
	}{{lock, &t.Lock, probe.CheapAtEntry}, {unlock, &t.Unlock, probe.CheapAt}} {
		place, err := w.PlaceOf(program, f.name)
		if err == nil {
			t.Program = place.File // not /proc/PID/exe: a library may have the functions
			*f.at, err = f.find(f.name, place.Code)
		}
		if err != nil {
			return nil, fmt.Errorf("--locks: %w", err)
		}
	}
	p, err := s.session.ProbeLocks(t)
	return &LockProbe{probe: p, zones: w.locks, budget: budget, times: LockTimes{Budget: budget}}, err
}

// Close ends the probe and forgets its times, after Run has returned.
func (p *LockProbe) Close() { p.probe.Close() }

// trial is how long the probe is attached at least: afterwards, what it has cost until then is known.
const trial = 50 * time.Millisecond

// every is how often it is asked what the probe has cost since.
const every = 50 * time.Millisecond

// promptTrial is the same where the probe, once it has cost too much, is gone at once: a worker that takes many locks is looked
// at in as short bursts as tell anything, and more of them.
const promptTrial = 10 * time.Millisecond

// Run times locks for a while. Where the probe's cost exceeds its budget, it is detached until that is paid: see purse.
func (p *LockProbe) Run(ctx context.Context, duration time.Duration) (LockTimes, error) {
	trial := trial
	if p.probe.Prompt() {
		trial = promptTrial
	}
	start := time.Now()
	p.lock.Lock()
	p.began = start
	p.lock.Unlock()
	sleep := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-process.Leave():
		case <-time.After(min(d, duration-time.Since(start))):
		}
	}
	over := func() bool { return ctx.Err() != nil || time.Since(start) >= duration }
	if err := p.bursts(over, sleep, trial); err != nil {
		p.lock.Lock()
		p.err = err
		p.lock.Unlock()
	}
	return p.Times()
}

func (p *LockProbe) bursts(over func() bool, sleep func(time.Duration), trial time.Duration) error {
	purse := purse{budget: p.budget}
	pause := func() (time.Duration, error) {
		taken, err := p.probe.Taken()
		return purse.rest(time.Duration(taken.Count)*cost(taken.Least), time.Since(p.began)), err
	}
	for !over() {
		if err := p.attach(); err != nil {
			return err
		}
		for next := trial; !over(); next = every {
			sleep(next)
			owed, err := pause()
			if err != nil {
				p.detach()
				return err
			}
			if owed > 0 || process.Leaving() {
				break
			}
		}
		p.detach()
		owed, err := pause() // with what came until it was
		if err != nil {
			return err
		}
		sleep(owed)
	}
	return nil
}

func (p *LockProbe) attach() error {
	p.release = process.Touch()
	if err := p.probe.Attach(); err != nil {
		p.release()
		return err
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.attached = probe.Now()
	p.times.Bursts++
	return nil
}

// detach ends a burst, which has lasted until now or until the last lock that it saw: the kernel takes a while for it, in which
// nothing may be seen any more.
func (p *LockProbe) detach() {
	end := probe.Now()
	p.lock.Lock()
	p.times.Probed += end - p.attached
	p.attached = 0
	p.lock.Unlock()
	p.probe.Detach()
	p.release()
	taken, err := p.probe.Taken()
	p.lock.Lock()
	defer p.lock.Unlock()
	p.times.Probed += max(0, taken.Last-end)
	p.err = cmp.Or(p.err, err)
}

// Times is what has been timed since Run began. It may be called while Run goes on.
func (p *LockProbe) Times() (LockTimes, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	err := p.read(&p.times)
	l := p.times
	if !p.began.IsZero() {
		l.Elapsed = time.Since(p.began)
	}
	if p.attached > 0 {
		l.Probed += probe.Now() - p.attached
	}
	return l, cmp.Or(p.err, err)
}

// rest is how long nothing may be probed until the cost is within a share of the time that has elapsed.
func rest(cost, elapsed time.Duration, budget float64) time.Duration {
	if wanted := float64(cost) / budget; wanted < math.MaxInt64 {
		return max(0, time.Duration(wanted)-elapsed)
	}
	return math.MaxInt64
}

// read takes over what has been timed until now.
func (p *LockProbe) read(l *LockTimes) error {
	all, err := p.probe.Read()
	if err != nil {
		return err
	}
	l.Zones = nil
	for _, t := range all {
		l.add(ZoneLock{p.zones.at(t.Address), t.Waits, t.Holds})
	}
	taken, err := p.probe.Taken()
	l.Taken, l.Each = taken.Count, cost(taken.Least)
	l.Cost = time.Duration(l.Taken) * l.Each
	return err
}

// cost is what the probe costs each lock, at most. The shortest wait that was seen, that for a free lock, is one
// way out of the kernel and one into it, and two halves of programs: a trap. There are three: at the entry, at the
// return, and when the lock is given back; and one more for the usual one being dearer than the cheapest. Where no lock
// was free it is too much, and the probe rests longer than it has to.
func cost(least time.Duration) time.Duration { return 4 * least }
