package worker

import (
	"context"
	"errors"
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
	between   = 10 * time.Millisecond
	atMost    = 50 * time.Millisecond
	least     = 20 // times its own length passes between two looks: at most 5 % of the worker's time
	clockTick = 10 * time.Millisecond
)

// Look looks at the worker again and again for a while, and tells tick the time that has passed.
// Single looks may fail, as when one hits the middle of a change; an error means that the rest of
// them did not happen, and Looks holds what was seen until then.
func (w *Worker) Look(ctx context.Context, duration time.Duration, tick func(time.Duration)) (Looks, error) {
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
		case <-time.After(min(max(between, least*s.Pause), atMost)):
		}
	}
	return finish(nil)
}

// gone tells that the worker has ended, or is a zombie.
func (w *Worker) gone() bool {
	stat, err := w.Stat()
	return err != nil || stat.State == 'Z' || stat.State == 'X'
}
