package sample

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
	"unique"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/worker"
)

// Series is what was seen of a worker over some time.
type Series struct {
	Samples []Sample
	Start   time.Time     // of the sampling; that of the first worker, where there are several
	Elapsed time.Duration // of all workers together
	Used    time.Duration // CPU time of the worker meanwhile, with all its threads
	CPU     float64       // that as a share of one processor
	Pause   time.Duration // mean time that a sample stopped the worker for, at most
	Paused  time.Duration // all of that
	Failed  int           // samples that came to nothing
	Lost    int           // samples of the kernel that were not taken from it in time
	Every   time.Duration // CPU time between two samples, where the kernel takes one in so much; else 0
	LastErr error         // why the last of those did

	// Where the kernel told when the worker slept:
	Timed  bool          // it did, so samples mean time, and off-CPU ones have a Sleep
	Began  time.Duration // since the machine started
	Rest   probe.Rest
	Stalls []Stall

	Compilation *Compilation // nil: nothing ran Lua
}

const (
	least     = 20 // times as long as a sample stopped the worker passes until the next: at most 5 % of its time
	clockTick = 10 * time.Millisecond
)

// Poll samples the worker hz times a second for a while, and reports to tick the time that has
// passed. The samples are a little irregular, so that they never keep step with what the worker does,
// and fewer where the worker would have to stand still for too long.
// Single samples may fail, as when one hits the middle of a change; an error means that the rest of
// them did not happen, and Series holds what was seen until then.
func (w *Worker) Poll(ctx context.Context, duration time.Duration, hz float64, tick func(time.Duration)) (Series, error) {
	var l Series
	before, err := w.Stat()
	if err != nil {
		return l, err
	}
	start := time.Now()
	last := before // an ended worker's can't be read any more
	finish := func(err error) (Series, error) {
		l.Start, l.Elapsed = start, time.Since(start)
		l.average()
		if after, e := w.Stat(); e == nil {
			last = after
		}
		l.Compilation = w.compilation()
		l.Used = time.Duration(last.Ticks-before.Ticks) * clockTick
		l.CPU = float64(l.Used) / float64(l.Elapsed)
		if err == nil && len(l.Samples) == 0 {
			err = errors.Join(errors.New("no sample of the worker succeeded"), l.LastErr)
		}
		return l, err
	}
	for n := 0; n == 0 || time.Since(start) < duration; n++ { // one sample at least
		began := time.Now()
		if err := w.Changed(); err != nil {
			return finish(err)
		}
		s, err := w.Sample()
		l.Paused += s.Pause
		stat, failed := w.Stat()
		if failed == nil {
			last = stat
		}
		switch {
		case err == nil:
			l.Samples = append(l.Samples, s.light())
		case failed != nil || stat.Ended():
			return finish(errEnded(start))
		default:
			l.Failed++
			l.LastErr = err
		}
		tick(time.Since(start))
		select {
		case <-ctx.Done():
			return finish(ctx.Err())
		case <-time.After(min(pause(hz, time.Since(began), s.Pause), duration-time.Since(start))):
		}
	}
	return finish(nil)
}

func errEnded(start time.Time) error {
	return fmt.Errorf("%w after %.1f s: was it reloaded, or did it crash?", worker.ErrEnded, time.Since(start).Seconds())
}

// And returns both series together; shares and pauses are then those of a worker on average.
func (l Series) And(other Series) Series {
	l.Samples = append(l.Samples, other.Samples...)
	l.Failed += other.Failed
	l.Lost += other.Lost
	l.Every = max(l.Every, other.Every)
	if !l.Timed || other.Timed && other.Began < l.Began {
		l.Began = other.Began
	}
	l.Timed = l.Timed || other.Timed
	l.Rest = l.Rest.And(other.Rest)
	l.Stalls = append(l.Stalls, other.Stalls...)
	switch {
	case l.Compilation == nil:
		l.Compilation = other.Compilation
	case other.Compilation != nil:
		both := l.Compilation.And(*other.Compilation)
		l.Compilation = &both
	}
	if l.Start.IsZero() || !other.Start.IsZero() && other.Start.Before(l.Start) {
		l.Start = other.Start
	}
	l.Paused += other.Paused
	l.average()
	l.Elapsed += other.Elapsed
	l.Used += other.Used
	l.CPU = float64(l.Used) / float64(max(1, l.Elapsed))
	l.LastErr = errors.Join(l.LastErr, other.LastErr)
	return l
}

// Cut is how many samples ended before their stack did, and how many functions of Lua they have left out together, at least.
func (l Series) Cut() (samples, functions int) {
	for _, s := range l.Samples {
		if s.Cut {
			samples, functions = samples+1, functions+s.LeftOut
		}
	}
	return samples, functions
}

func (l *Series) average() {
	if n := len(l.Samples) + l.Failed; n > 0 {
		l.Pause = l.Paused / time.Duration(n)
	}
}

// errPartial is whatever it was that a sample's C frames are missing for.
var errPartial = errors.New("C frames are missing")

// light is the sample with as little memory of its own as can be: it may be one of many.
func (s Sample) light() Sample {
	if s.Partial != nil {
		s.Partial = errPartial
	}
	s.Request.Method = unique.Make(s.Request.Method).Value()
	s.Request.URI = unique.Make(s.Request.URI).Value()
	return s
}

// pause is how long to wait after a sample that took so long and stopped the worker for a part of it.
// From one sample to the next it is a period on average, from half of one to one and a half.
func pause(hz float64, took, stopped time.Duration) time.Duration {
	period := float64(time.Second) / hz * (0.5 + rand.Float64())
	return max(time.Duration(period)-took, least*stopped)
}

// Weight is what a sample of the series counts: the time that it means, in ns, where that is known; or the bytes.
func (l Series) Weight(s Sample) float64 {
	switch {
	case s.Bytes > 0:
		return s.Bytes
	case !l.Timed:
		return 1
	case s.Sleep != nil:
		return float64(s.Sleep.For + s.Sleep.Queued)
	}
	return float64(l.Every)
}

// Total is what samples of the series count together.
func (l Series) Total(samples []Sample) (sum float64) {
	for _, s := range samples {
		sum += l.Weight(s)
	}
	return sum
}
