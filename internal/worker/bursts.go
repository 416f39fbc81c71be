package worker

import (
	"context"
	"time"

	"github.com/moonlap/moonlap/internal/process"
)

// Bursts is how long a probe was attached to workers, and what that cost them.
type Bursts struct {
	Elapsed time.Duration // since the probe began, of all workers together
	Probed  time.Duration // of that: it was attached
	Cost    time.Duration // CPU time that it took from the workers
	Budget  float64       // which share of Elapsed that may be
	Bursts  int           // how often it was attached
}

// And is both.
func (b Bursts) And(o Bursts) Bursts {
	b.Elapsed += o.Elapsed
	b.Probed += o.Probed
	b.Cost += o.Cost
	b.Budget = max(b.Budget, o.Budget)
	b.Bursts += o.Bursts
	return b
}

// A burst is what can be attached for a while.
type burst interface {
	Attach() error
	Detach()
}

// run attaches a probe until ctx ends, for trial at least, which is as long as the waits that it is to see mostly are. Where its cost, that cost tells since the beginning, exceeds the
// budget, it is detached until that is paid: see purse. A time in which this program is suspended is one more rest.
func (b *Bursts) run(ctx context.Context, p burst, cost func() (time.Duration, error)) (err error) {
	start := time.Now()
	purse := purse{budget: b.Budget}
	owed := func() (owed time.Duration) {
		if b.Cost, err = cost(); err != nil {
			return 0
		}
		return purse.rest(b.Cost, time.Since(start))
	}
	defer func() { b.Elapsed = time.Since(start) }()
	for ctx.Err() == nil {
		release := process.Touch()
		if err := p.Attach(); err != nil {
			release()
			return err
		}
		attached := time.Now()
		b.Bursts++
		for pause := trial; ctx.Err() == nil; pause = every {
			if sleepFor(ctx, pause); owed() > 0 || err != nil || process.Leaving() {
				break
			}
		}
		p.Detach()
		release()
		b.Probed += time.Since(attached)
		pause := owed() // with what came until it was
		if err != nil {
			return err
		}
		sleepFor(ctx, pause)
	}
	return nil
}
