package sample

import (
	"cmp"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
)

// A Stall is a turn of the event loop that took long: from when the worker had got its events until it
// asked for more, no other request went on.
type Stall struct {
	PID     int
	Start   time.Duration // since the machine started
	Length  time.Duration
	Slept   time.Duration // of that: it was put to sleep
	Queued  time.Duration // it could have run, and had no processor
	Events  int           // that it served in this turn
	Samples []Sample      // that fell into it, of the main thread
}

// Computed is for how long of the turn the worker ran.
func (s Stall) Computed() time.Duration { return max(0, s.Length-s.Slept-s.Queued) }

// A diary has what is open while snapshots come in.
type diary struct {
	asleep *Sample // that began, and has not ended
}

// note puts a snapshot into the series.
func (w *Worker) note(s *Sampler, m *probe.Snapshot, l *Series, d *diary) {
	switch m.Kind {
	case probe.Back:
		if d.asleep != nil {
			d.asleep.Sleep.For, d.asleep.Sleep.Queued = m.Slept, m.Queued
			l.Samples = append(l.Samples, *d.asleep)
			d.asleep = nil
		}
		return
	case probe.Turn:
		length := time.Duration(m.Value)
		l.Stalls = append(l.Stalls, Stall{
			PID: w.PID, Start: m.Time - length, Length: length, Slept: m.Slept, Queued: m.Queued, Events: m.Events,
		})
		return
	}
	sample, ok := w.sample(s, m, l)
	if !ok {
		return
	}
	if m.Kind == probe.Blocked {
		call, cause := causeOf(m.Call(), m.State())
		sample.Asleep, sample.Sleep = true, &Sleep{Call: call, Cause: cause}
		d.asleep = &sample
		return
	}
	l.Samples = append(l.Samples, sample)
}

// sample makes a sample of a snapshot; ok is false where that came to nothing, which the series counts.
func (w *Worker) sample(s *Sampler, m *probe.Snapshot, l *Series) (sample Sample, ok bool) {
	sample, err := w.snapshot(s, m)
	if err != nil {
		l.Failed++
		l.LastErr = err
		return sample, false
	}
	return sample.light(), true
}

// end takes in what has not ended yet, and looks up which samples fell into which stall.
func (d *diary) end(pid int, l *Series, long time.Duration) {
	now := probe.Now()
	if d.asleep != nil {
		d.asleep.Sleep.For = max(0, now-d.asleep.Time)
		l.Samples = append(l.Samples, *d.asleep)
	}
	if r := l.Rest; long > 0 && r.Turn > 0 && now-r.Turn >= long {
		l.Stalls = append(l.Stalls, Stall{
			PID: pid, Start: r.Turn, Length: now - r.Turn, Slept: r.TurnSlept, Queued: r.TurnQueued,
		})
	}
	if len(l.Stalls) == 0 {
		return
	}
	slices.SortStableFunc(l.Samples, func(a, b Sample) int { return cmp.Compare(a.Time, b.Time) })
	for i := range l.Stalls {
		s := &l.Stalls[i]
		from, _ := slices.BinarySearchFunc(l.Samples, s.Start, func(x Sample, t time.Duration) int { return cmp.Compare(x.Time, t) })
		for _, x := range l.Samples[from:] {
			if x.Time > s.Start+s.Length {
				break
			}
			if !x.Thread {
				s.Samples = append(s.Samples, x)
			}
		}
	}
}
