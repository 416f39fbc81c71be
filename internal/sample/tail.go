package sample

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/worker"
)

// A Tail is the last seconds of a worker that is followed without an end. Its samples and stalls are in the order
// in which they ended.
type Tail struct {
	Series
	Now    time.Duration // since the machine started
	Since  time.Duration // from then on nothing was forgotten
	New    int           // samples at the end that the call before did not have
	Asleep *Sample       // that it was put to sleep with, and is not back from; nil: it is awake
	Last   bool          // nothing more will come
	End    *process.End  // the worker has ended, so; nil: it runs
}

const (
	// mostInTail bounds the memory of samples: a worker that is put to sleep 2,000 times a second for ten seconds has
	// two thirds of that.
	mostInTail = 1 << 15
	// mostNamed bounds that of different stacks and frames with their names, which else would grow with each file of
	// code that is ever loaded.
	mostNamed = 1 << 14
)

// Tail has the kernel report what is wanted of the worker, keeps what ended in the last seconds, and hands that to each, four times
// a second and once more at the end: when ctx ends, or the worker does, which is no error. each may look into the
// worker, and must not keep the slices. Sleeps are always reported, allocations never.
func (w *Worker) Tail(ctx context.Context, s *Sampler, wants Wants, keep time.Duration, each func(*Tail)) error {
	wants.Sleeps = true
	fate, err := process.OpenFate(w.PID)
	if err != nil {
		return err
	}
	defer fate.Close()
	sampling, err := w.Sampling(s, wants)
	if err != nil {
		return err
	}
	source, seen, last, start := sampling.Source, &sampling.series, sampling.before, time.Now()
	t := &Tail{Since: seen.Began}
	tell := func() {
		known := len(t.Samples)
		t.Series = *seen
		t.New = len(t.Samples) - known
		t.Asleep = sampling.diary.asleepNow(t.Rest)
		t.Now = probe.Now()
		t.forget(t.Now - keep)
		*seen = t.Series
		each(t)
	}
	chore := func() (err error) {
		if last, err = w.follow(source, last, start); err == nil {
			seen.Rest, err = source.Rest()
		}
		if err != nil {
			return err
		}
		if lost, err := source.Lost(); err == nil && int(lost) > seen.Lost {
			seen.Lost, sampling.diary.asleep = int(lost), nil // that it came back may be among what is lost
		}
		w.keep()
		w.forgetNames()
		w.learnAsleep(sampling.diary)
		tell()
		return nil
	}
	err = sampling.read(ctx, chore, source.Detach)
	if errors.Is(err, worker.ErrEnded) {
		err = nil
		how := ending(fate)
		t.End = &how
	}
	t.Last = true
	if rest, failed := source.Rest(); failed == nil {
		seen.Rest = rest
	}
	tell()
	return err
}

// asleepNow is what the worker is asleep in, where that is what is known of it: what the kernel tells of a sleep's end comes
// a little late, and its sums don't.
func (d *diary) asleepNow(r probe.Rest) *Sample {
	const apart = 20 * time.Millisecond // that the two may take the same beginning for
	if d.asleep == nil || r.Asleep == 0 || r.Asleep > d.asleep.Time+apart {
		return nil
	}
	return d.asleep
}

// ending is how the worker ended, which its master may need a moment to take notice of.
func ending(fate *process.Fate) process.End {
	const tries, apart = 20, 50 * time.Millisecond
	for range tries {
		if end := fate.End(); end.Known {
			return end
		}
		time.Sleep(apart)
	}
	return process.End{}
}

// Until is when what the sample stands for was over.
func (s Sample) Until() time.Duration {
	if s.Sleep == nil {
		return s.Time
	}
	return s.Time + s.Sleep.For + s.Sleep.Queued
}

// forget drops what ended before a time, and the oldest of more samples than there is room for.
func (t *Tail) forget(before time.Duration) {
	t.Since = max(t.Since, before)
	n := max(0, len(t.Samples)-mostInTail)
	if n > 0 {
		t.Since = max(t.Since, t.Samples[n-1].Until())
	}
	for n < len(t.Samples) && t.Samples[n].Until() < before {
		n++
	}
	t.Samples = slices.Delete(t.Samples, 0, n)
	t.New = min(t.New, len(t.Samples))
	n = 0
	for n < len(t.Stalls) && t.Stalls[n].Start+t.Stalls[n].Length < before {
		n++
	}
	t.Stalls = slices.Delete(t.Stalls, 0, n)
}

// learnAsleep reads the request that the worker sleeps in where it was not known yet how: the first one, mostly.
func (w *Worker) learnAsleep(d *diary) {
	if d.asleep == nil || !d.asleep.Request.Unread {
		return
	}
	if _, now := w.whereabouts(); now != nil && now.Request.Address == d.asleep.Request.Address {
		d.asleep.Request = now.Request
	}
}

// forgetNames forgets stacks and names where there are too many: equal ones are found again.
func (w *Worker) forgetNames() {
	if len(w.stacks.known) > mostNamed {
		clear(w.stacks.known)
	}
	w.ForgetNames(mostNamed)
}
