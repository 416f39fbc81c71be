package probe

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/process"
)

// A Duty is how long a probe was attached to workers, and what that cost them.
type Duty struct {
	Elapsed time.Duration `json:"elapsed_ns"` // since the probe began, of all workers together
	Probed  time.Duration `json:"probed_ns"`  // of that: it was attached
	Cost    time.Duration `json:"cost_ns"`    // CPU time that it took from the workers
	Budget  float64       `json:"budget"`     // which share of Elapsed that may be
	Bursts  int           `json:"bursts"`     // how often it was attached
}

// And is both.
func (d Duty) And(o Duty) Duty {
	d.Elapsed += o.Elapsed
	d.Probed += o.Probed
	d.Cost += o.Cost
	d.Budget = max(d.Budget, o.Budget)
	d.Bursts += o.Bursts
	return d
}

// Since is what has come since an earlier one of the same probe.
func (d Duty) Since(o Duty) Duty {
	d.Elapsed -= o.Elapsed
	d.Probed -= o.Probed
	d.Cost -= o.Cost
	d.Bursts -= o.Bursts
	return d
}

// Share is a part of the time that was probed, of a worker's.
func (d Duty) Share(part time.Duration) float64 { return float64(part) / float64(max(1, d.Probed)) }

// CostShare is what part of the workers' time it cost.
func (d Duty) CostShare() float64 { return float64(d.Cost) / float64(max(1, d.Elapsed)) }

// A Probe is attached for a while at a time.
type Probe interface {
	Attach() error
	Detach()
	// Spent is what it has cost until now, and when it saw something last, see Now; 0: that is not known.
	Spent() (cost, last time.Duration, err error)
}

// A Schedule says when a probe is attached, and what is done meanwhile.
type Schedule interface {
	// Next is the next burst. cost and elapsed are since Run began.
	Next(cost, elapsed time.Duration) Burst
	// During lasts as long as the burst does. It ends early where ctx does.
	During(ctx context.Context, b Burst) error
}

// A Burst is a time in which a probe is attached.
type Burst struct {
	Before time.Duration // for which it is not attached first
	Whole  time.Duration // from the end of the burst before, mostly, to that of the rest behind this one
	Stays  bool          // the next burst follows at once
}

// A Cycle attaches a probe again and again, within a budget.
type Cycle struct {
	Probe
	Schedule               // nil: as long as the budget allows
	Trial    time.Duration // without a Schedule: how long it is attached at least: as long as what it is to see mostly takes
	Budget   float64       // share of a processor (0.01: 1 %)

	release func()        // of the worker, which this program has in hand while the probe is attached; nil: it is not
	gaps    time.Duration // Gaps when it was attached

	lock     sync.Mutex    // of what follows: Duty may be asked for while Run goes on
	began    time.Time     // Run did; zero: not yet
	ended    time.Time     // likewise
	attached time.Duration // since when the probe is, see Now; 0: it is not
	duty     Duty          // Elapsed is set by Duty
	err      error         // what Run ended with
}

// Run attaches the probe until ctx ends. A time in which this program is suspended is one more rest.
func (c *Cycle) Run(ctx context.Context) error {
	c.lock.Lock()
	c.began = time.Now()
	c.lock.Unlock()
	if c.Schedule == nil {
		c.Schedule = &trials{cycle: c, budget: budget{share: c.Budget}}
	}
	err := c.bursts(ctx)
	if c.release != nil {
		c.detach()
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.err, c.ended = cmp.Or(c.err, err), time.Now()
	return c.err
}

func (c *Cycle) bursts(ctx context.Context) error {
	for end := c.began; ctx.Err() == nil; {
		cost, elapsed, err := c.cost()
		if err != nil {
			return err
		}
		b := c.Next(cost, elapsed)
		if c.release != nil && (!b.Stays || process.Leaving()) {
			c.detach()
		}
		if now := time.Now(); now.After(end) {
			end = now
		}
		end = end.Add(b.Whole)
		Sleep(ctx, b.Before)
		if ctx.Err() != nil {
			return nil
		}
		if c.release == nil {
			if err := c.attach(); err != nil {
				return err
			}
		}
		if err := c.During(ctx, b); err != nil {
			return err
		}
		if !b.Stays {
			c.detach()
			Sleep(ctx, time.Until(end))
		}
	}
	return nil
}

// cost is what the probe has cost since Run began, and for how long.
func (c *Cycle) cost() (cost, elapsed time.Duration, err error) {
	cost, _, err = c.Spent()
	c.lock.Lock()
	defer c.lock.Unlock()
	c.duty.Cost = cost
	return cost, time.Since(c.began), err
}

// trials is the Schedule of a probe that is attached for a trial, and on as long as the budget allows. Then it is detached until its
// cost is paid: see budget.
type trials struct {
	cycle  *Cycle
	budget budget
}

func (t *trials) Next(cost, elapsed time.Duration) Burst {
	return Burst{Before: t.budget.pause(cost, elapsed)} // with what came until it was detached
}

func (t *trials) During(ctx context.Context, _ Burst) error {
	const checked = 50 * time.Millisecond // how often it is asked what it has cost
	for next := t.cycle.Trial; ctx.Err() == nil; next = checked {
		Sleep(ctx, next)
		cost, elapsed, err := t.cycle.cost()
		if err != nil || t.budget.pause(cost, elapsed) > 0 || process.Leaving() {
			break // the error comes again behind the burst
		}
	}
	return nil
}

func (c *Cycle) attach() error {
	release := process.Touch()
	if err := c.Attach(); err != nil {
		release()
		return err
	}
	c.release = release
	c.lock.Lock()
	defer c.lock.Unlock()
	c.attached, c.gaps = Now(), Gaps()
	c.duty.Bursts++
	return nil
}

// detach ends a burst, which has lasted until now or until the last thing that it saw: the kernel takes a while for it, in which
// nothing may be seen any more.
func (c *Cycle) detach() {
	end := Now()
	c.lock.Lock()
	c.duty.Probed += max(0, end-c.attached-(Gaps()-c.gaps))
	c.attached = 0
	c.lock.Unlock()
	c.Detach()
	c.release()
	c.release = nil
	cost, last, err := c.Spent()
	c.lock.Lock()
	defer c.lock.Unlock()
	c.duty.Cost = cost
	c.duty.Probed += max(0, last-end)
	c.err = cmp.Or(c.err, err)
}

// Duty is what has become of the probe since Run began. It may be called while Run goes on.
func (c *Cycle) Duty() (Duty, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	d := c.duty
	d.Budget = c.Budget
	switch {
	case !c.ended.IsZero():
		d.Elapsed = c.ended.Sub(c.began)
	case !c.began.IsZero():
		d.Elapsed = time.Since(c.began)
	}
	if c.attached > 0 {
		d.Probed += max(0, Now()-c.attached-(Gaps()-c.gaps))
	}
	return d, c.err
}

// Sleep waits, until ctx ends or this program is about to be suspended.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-process.Leave():
	case <-time.After(d):
	}
}
