package sample

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
)

// Wants is what a Sampler is to tell of a worker.
type Wants struct {
	Hz     float64       // samples in a second of CPU time; 0: none
	Sleeps bool          // when it sleeps, though it does not wait for events
	Turns  time.Duration // also turns of the event loop that take so long; 0: none
}

// A Sampling is one worker while a Sampler samples it.
type Sampling struct {
	*Worker
	Source *probe.Source // for probes whose snapshots come with the samples

	sampler *Sampler
	wants   Wants
	series  Series
	diary   *diary
	before  process.Stat
	takers  map[probe.Kind]func(*probe.Snapshot)
}

// Sampling begins to sample the worker. Run is to be called then, or Close.
func (w *Worker) Sampling(s *Sampler, wants Wants) (*Sampling, error) {
	before, err := w.Stat()
	if err != nil {
		return nil, err
	}
	began := probe.Now()
	source, diary, err := w.attach(s, wants)
	if err != nil {
		return nil, err
	}
	out := &Sampling{Worker: w, Source: source, sampler: s, wants: wants, diary: diary, before: before, takers: map[probe.Kind]func(*probe.Snapshot){}}
	out.series = Series{Timed: wants.Sleeps || wants.Turns > 0, Began: began, Every: wants.every()}
	return out, nil
}

// every is the CPU time between two samples.
func (w Wants) every() time.Duration {
	if w.Hz == 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / w.Hz)
}

// Close ends a sampling that Run is not called of.
func (s *Sampling) Close() { s.Source.Detach() }

// Take hands snapshots of a kind to take while Run goes on. It is to be called before.
func (s *Sampling) Take(kind probe.Kind, take func(*probe.Snapshot)) { s.takers[kind] = take }

// Sample makes a sample of a snapshot; ok is false where that came to nothing, which is counted.
func (s *Sampling) Sample(m *probe.Snapshot) (sample Sample, ok bool) {
	return s.sample(s.sampler, m, &s.series)
}

// Samples are those that Run has come to.
func (s *Sampling) Samples() []Sample { return s.series.Samples }

// Run samples for a while, and tells tick the time that has passed. When that is over, it calls end, and the snapshots that were
// taken until end returned still come. Where an error ends it early, Series holds what was seen until then.
func (s *Sampling) Run(ctx context.Context, duration time.Duration, tick func(time.Duration), end func()) (Series, error) {
	start := time.Now()
	last := s.before // an ended worker's can't be read any more
	during, stop := context.WithTimeout(ctx, duration)
	defer stop()
	l := &s.series
	chore := func() (err error) {
		tick(time.Since(start))
		last, err = s.follow(s.Source, last, start)
		return err
	}
	err := s.read(during, chore, func() {
		end()
		s.Source.Detach()
		l.Start, l.Elapsed = start, time.Since(start)
		if after, e := s.Stat(); e == nil {
			last = after
		}
	})
	l.Compilation = s.compilation()
	l.Used = time.Duration(last.Ticks-s.before.Ticks) * clockTick
	l.CPU = float64(l.Used) / float64(l.Elapsed)
	lost, lostErr := s.Source.Lost()
	l.Lost = int(lost)
	if l.Timed {
		var restErr error
		l.Rest, restErr = s.Source.Rest()
		lostErr = errors.Join(lostErr, restErr)
		s.diary.end(s.PID, l, s.wants.Turns)
	}
	return *l, cmp.Or(err, ctx.Err(), lostErr)
}

// choresEvery is how often what has changed in a worker is followed, and a tail reported.
const choresEvery = 250 * time.Millisecond

// read takes in snapshots until ctx ends, or a chore fails, of which there is one now and then. Then it calls end, which has to
// detach the source, and takes in what the kernel has copied until then.
func (s *Sampling) read(ctx context.Context, chore func() error, end func()) (err error) {
	defer s.Forget()
	chores := time.NewTicker(choresEvery)
	defer chores.Stop()
	over := ctx.Done()
	stop := func(why error) {
		err, over = why, nil
		end()
	}
	for snapshots := s.Source.Snapshots(); snapshots != nil; {
		select {
		case m, ok := <-snapshots:
			if !ok {
				snapshots = nil
				break
			}
			if why := s.take(m); why != nil && over != nil {
				stop(why)
			}
		case <-chores.C:
			if over == nil {
				break
			}
			if why := chore(); why != nil {
				stop(why)
			}
		case <-over:
			stop(nil)
		}
	}
	return err
}

// take takes in a snapshot.
func (s *Sampling) take(m *probe.Snapshot) error {
	known := s.URI()
	if take := s.takers[m.Kind]; take != nil {
		take(m)
	} else {
		s.note(s.sampler, m, &s.series, s.diary)
	}
	if s.URI() == known {
		return nil
	}
	return s.Source.SetURI(s.URI())
}
