package worker

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
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

func (l *LockTimes) add(z ZoneLock) {
	i, found := slices.BinarySearchFunc(l.Zones, z.Zone, func(a ZoneLock, name string) int { return strings.Compare(a.Zone, name) })
	if !found {
		l.Zones = slices.Insert(l.Zones, i, ZoneLock{Zone: z.Zone})
	}
	l.Zones[i].Waits = l.Zones[i].Waits.And(z.Waits)
	l.Zones[i].Holds = l.Zones[i].Holds.And(z.Holds)
}

// A LockProbe times the locks of one worker.
type LockProbe struct {
	probe  *probe.LockProbe
	zones  locks
	budget float64
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
	t := probe.LockTarget{PID: w.PID, Program: w.exe()}
	for _, f := range []struct {
		name string
		at   *probe.LockFunction
		find func(string, []byte) (probe.LockFunction, error)
	}{{lock, &t.Lock, probe.CheapAtEntry}, {unlock, &t.Unlock, probe.CheapAt}} {
		code, _, err := program.Code(f.name)
		if err == nil {
			*f.at, err = f.find(f.name, code)
		}
		if err != nil {
			return nil, fmt.Errorf("--locks: %w", err)
		}
	}
	p, err := s.session.ProbeLocks(t)
	return &LockProbe{p, w.locks, budget}, err
}

// trial is how long the probe is attached at least: afterwards, what it has cost until then is known.
const trial = 50 * time.Millisecond

// Run times locks for a while. Where the probe's cost exceeds its budget, it is detached until the share is
// back within it.
func (p *LockProbe) Run(ctx context.Context, duration time.Duration) (LockTimes, error) {
	start := time.Now()
	l := LockTimes{Budget: p.budget}
	defer p.probe.Detach()
	sleep := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(min(d, duration-time.Since(start))):
		}
	}
	over := func() bool { return ctx.Err() != nil || time.Since(start) >= duration }
	for !over() {
		if err := p.probe.Attach(); err != nil {
			return l, err
		}
		attached := time.Now()
		l.Bursts++
		for !over() && rest(l.Cost, time.Since(start), p.budget) == 0 || time.Since(attached) < trial && !over() {
			sleep(trial)
			if err := p.read(&l); err != nil {
				return l, err
			}
		}
		p.probe.Detach()
		l.Probed += time.Since(attached)
		if err := p.read(&l); err != nil { // what came until it was
			return l, err
		}
		if !over() {
			sleep(rest(l.Cost, time.Since(start), p.budget))
		}
	}
	l.Elapsed = time.Since(start)
	return l, nil
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
	l.Taken, l.Zones = 0, nil
	var waits probe.Spans
	for _, t := range all {
		l.add(ZoneLock{p.zones.at(t.Address), t.Waits, t.Holds})
		waits = waits.And(t.Waits)
	}
	l.Taken = waits.Count()
	l.Each = cost(waits.Least)
	l.Cost = time.Duration(l.Taken) * l.Each
	return nil
}

// cost is what the probe costs each lock, at most. The shortest wait that was seen, that for a free lock, is one
// way out of the kernel and one into it, and two halves of programs: a trap. There are three: at the entry, at the
// return, and when the lock is given back; and one more for the usual one being dearer than the cheapest. Where no lock
// was free it is too much, and the probe rests longer than it has to.
func cost(least time.Duration) time.Duration { return 4 * least }
