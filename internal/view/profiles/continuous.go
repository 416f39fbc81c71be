package profiles

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/worker"
)

// mostNamed bounds the names of functions and files that are kept of a worker: it may load code for days.
const mostNamed = 1 << 14

// Continuous samples the workers of a choice, those of reloads included, until ctx ends or there are none to wait for. each gets what
// every interval has seen, one after the other, also of the last one, which is shorter; nothing of it is kept.
func (w *Way) Continuous(ctx context.Context, c *follow.Choice, every time.Duration, each func([]Sampled)) {
	g := &gathering{began: time.Now(), every: every}
	f := follow.Follower{Find: c.Find, Expects: c.Expects, Patience: 5 * time.Second, Open: openWorker}
	f.Observe = func(ctx context.Context, of *worker.Worker) error {
		for {
			one := w.sample(ctx, of, g.left(time.Now()), func(time.Duration) {})
			why := one.err
			if ctx.Err() != nil || errors.Is(why, worker.ErrEnded) {
				one.err = nil // which is not its fault
			}
			g.add(one)
			if why != nil || ctx.Err() != nil {
				return why
			}
			of.ForgetNames(mostNamed)
		}
	}
	f.Failed = func(pid int, err error) { g.add(Sampled{pid: pid, err: err}) }
	over := make(chan bool)
	go func() {
		f.Run(ctx)
		close(over)
	}()
	for going := true; going; {
		select {
		case <-over:
			going = false
		case <-time.After(g.left(time.Now()) + g.grace()):
		}
		if all := g.take(); len(all) > 0 {
			each(all)
		}
	}
}

// A gathering has what workers have been seen to do in an interval. All begin with the same ones.
type gathering struct {
	began time.Time
	every time.Duration

	lock sync.Mutex
	all  []Sampled
}

// left is how long an interval goes on that begins now: until the others end, or, so short before that, until the next ones do.
func (g *gathering) left(now time.Time) time.Duration {
	const short = 10 // parts of an interval
	left := g.every - now.Sub(g.began)%g.every
	if left < g.every/short {
		left += g.every
	}
	return left
}

// grace is how long workers may take to hand over what they have seen. What comes later is in the next interval.
func (g *gathering) grace() time.Duration { return min(g.every/4, time.Second) }

func (g *gathering) add(one Sampled) {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.all = append(g.all, one)
}

func (g *gathering) take() []Sampled {
	g.lock.Lock()
	defer g.lock.Unlock()
	all := g.all
	g.all = nil
	return all
}
