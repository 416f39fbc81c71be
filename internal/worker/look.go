package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Looks is what was seen of a worker over some time.
type Looks struct {
	Samples []Sample
	Elapsed time.Duration
	CPU     float64       // share of one processor that the worker used meanwhile
	Pause   time.Duration // mean time that a look stopped the worker for
	Failed  int           // looks that came to nothing
	LastErr error         // why the last of those did
}

const (
	atMost    = 50 * time.Millisecond
	least     = 20 // times its own length passes between two looks: at most 5 % of the worker's time
	clockTick = 10 * time.Millisecond
)

// Look looks at the worker so many times a second for a while, and tells tick the time that has
// passed. The looks are a little irregular, so that they never keep step with what the worker does,
// and fewer where the worker would have to stand still for too long.
// Single looks may fail, as when one hits the middle of a change; an error means that the rest of
// them did not happen, and Looks holds what was seen until then.
func (w *Worker) Look(ctx context.Context, duration time.Duration, hz float64, tick func(time.Duration)) (Looks, error) {
	var l Looks
	before, err := w.Stat()
	if err != nil {
		return l, err
	}
	start := time.Now()
	var paused time.Duration
	finish := func(err error) (Looks, error) {
		l.Elapsed = time.Since(start)
		if n := len(l.Samples) + l.Failed; n > 0 {
			l.Pause = paused / time.Duration(n)
		}
		if after, e := w.Stat(); e == nil {
			used := time.Duration(after.Ticks-before.Ticks) * clockTick
			l.CPU = min(1, float64(used)/float64(l.Elapsed))
		}
		if err == nil && len(l.Samples) == 0 {
			err = errors.Join(errors.New("no look at the worker succeeded"), l.LastErr)
		}
		return l, err
	}
	for time.Since(start) < duration {
		s, err := w.Sample()
		paused += s.Pause
		switch {
		case err == nil:
			l.Samples = append(l.Samples, s)
		case w.gone():
			return finish(err)
		default:
			l.Failed++
			l.LastErr = err
		}
		tick(time.Since(start))
		select {
		case <-ctx.Done():
			return finish(ctx.Err())
		case <-time.After(pause(hz, s.Pause)):
		}
	}
	return finish(nil)
}

// And returns both looks together, as of one worker.
func (l Looks) And(other Looks) Looks {
	n, m := len(l.Samples)+l.Failed, len(other.Samples)+other.Failed
	if n+m > 0 {
		l.Pause = (l.Pause*time.Duration(n) + other.Pause*time.Duration(m)) / time.Duration(n+m)
	}
	l.Samples = append(l.Samples, other.Samples...)
	l.Failed += other.Failed
	l.Elapsed += other.Elapsed
	l.CPU += other.CPU
	l.LastErr = errors.Join(l.LastErr, other.LastErr)
	return l
}

// gone tells that the worker has ended, or is a zombie.
func (w *Worker) gone() bool {
	stat, err := w.Stat()
	return err != nil || stat.State == 'Z' || stat.State == 'X'
}

// pause is how long to wait for the next look: on average a period, from half of one to one and a
// half.
func pause(hz float64, stopped time.Duration) time.Duration {
	period := float64(time.Second) / hz * (0.5 + rand.Float64())
	return max(time.Duration(period)-stopped, min(least*stopped, atMost))
}
