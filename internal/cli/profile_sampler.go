package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/follow"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/worker"
)

// Ways to sample workers.
const (
	byAuto   = "auto"
	byEBPF   = "ebpf"
	byPtrace = "ptrace"
)

// A way is how workers are sampled.
type way struct {
	sampler *sample.Sampler // nil: each sample stops the worker
	mode    mode
	wants   sample.Wants
	hold    time.Duration  // that a sample may stop the worker for
	kinds   []observe.Kind // of evidence that are observed
	hz      float64
	budget  float64 // share of a worker's time that these may cost
	// began is called with what observes a worker, and returns what is called before that ends; nil: nobody asks meanwhile.
	began func(*observe.Observing) (ends func())
}

// openWay takes the way that was asked for, or the best there is.
func (o *profileOptions) openWay(sys Sys) (way, error) {
	l := way{mode: o.mode, hold: o.pause, hz: o.hz, wants: sample.Wants{Hz: o.hz}}
	if o.by == byPtrace {
		return l, nil
	}
	// Samples are kept until the end. The collector's usual room, as much again, costs the machine more than collecting
	// oftener, which of so few pointers is soon done.
	debug.SetGCPercent(25)
	sampler, err := sample.NewSampler()
	switch {
	case err != nil && !errors.Is(err, probe.ErrUnsupported):
		return l, err
	case err != nil && (o.by == byEBPF || o.needsEBPF() != ""):
		return l, errUnsupported(err)
	case err != nil:
		fmt.Fprintf(sys.Stderr, "moonlap: %v; sampling by ptrace instead, which stops a worker for each sample%s\n", err, o.mode.withoutTimes())
		return l, nil
	case o.baseline != "" && o.mode.unit() != "":
		sampler.Close()
		return l, usageErrorf("--baseline compares samples, and %s is about time: with --by ptrace it has samples", o.mode.name)
	}
	l.sampler, l.wants, l.kinds, l.budget = sampler, o.mode.wants(o.hz, o.stalls), o.kinds(), float64(o.budget)
	return l, nil
}

// intoStalls is a rate at which some looks fall into a turn of the event loop that takes so long.
func intoStalls(long time.Duration) float64 {
	const usual, most, series = 99, 999, 4
	return min(most, max(usual, series/long.Seconds()))
}

// unit is what the profile counts.
func (l way) unit() profile.Unit {
	if l.sampler == nil {
		return ""
	}
	return l.mode.unit()
}

func (l way) name() string {
	if l.sampler != nil {
		return byEBPF
	}
	return byPtrace
}

func (l way) close() error {
	if l.sampler == nil {
		return nil
	}
	return l.sampler.Close()
}

func (l way) look(ctx context.Context, w *worker.Worker, duration time.Duration, tick func(time.Duration)) (seen sampled) {
	seen.pid = w.PID
	if l.sampler == nil {
		stopping := sample.Of(w)
		stopping.Hold = l.hold
		seen.series, seen.err = stopping.Poll(ctx, duration, l.wants.Hz, tick)
		return seen
	}
	sampling, err := sample.Of(w).Sampling(l.sampler, l.wants)
	if err != nil {
		seen.err = err
		return seen
	}
	observing := observe.Begin(ctx, observe.At{Worker: w, Sampling: sampling, Budget: l.budget, Hz: l.hz}, l.kinds)
	defer observing.Close()
	if seen.err = observing.Refused(); seen.err != nil {
		sampling.Close()
		return seen
	}
	if l.began != nil {
		defer l.began(observing)()
	}
	seen.series, seen.err = sampling.Run(observing, duration, tick, observing.Stop)
	if seen.evidence, err = observing.Results(); err != nil && ctx.Err() == nil {
		seen.err = err // which has ended the sampling
	}
	if l.mode.kind != nil {
		seen.series.Samples = observing.Samples()
	}
	return seen
}

// A following is processes that are sampled side by side, and what became of each.
type following struct {
	follow.Follower
	by       way
	duration func(pid int) time.Duration // how long a process is sampled that has just been opened
	tick     func()                      // is called while they are, by one of them at a time; nil: by none

	lock sync.Mutex // of what follows, and of tick
	all  []sampled  // by process ID, once all is over
}

// until samples processes as they come until ctx ends; others that come after finding has ended are left alone.
func (f *following) until(ctx, finding context.Context) []sampled {
	f.Observe = func(ctx context.Context, w *worker.Worker) error {
		seen := f.by.look(ctx, w, f.duration(w.PID), func(time.Duration) {
			f.lock.Lock()
			defer f.lock.Unlock()
			if f.tick != nil {
				f.tick()
			}
		})
		why := seen.err
		f.saw(ctx, seen)
		return why
	}
	f.Failed = func(pid int, err error) { f.saw(ctx, sampled{pid: pid, err: err}) }
	f.RunUntil(ctx, finding)
	slices.SortStableFunc(f.all, func(a, b sampled) int { return a.pid - b.pid })
	return f.all
}

func (f *following) saw(ctx context.Context, one sampled) {
	if ctx.Err() != nil {
		one.err = nil // which is not the worker's fault
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	f.all = append(f.all, one)
}

// together are those of all, and why some of them failed that have not just ended.
func together(all []sampled) (series sample.Series, err error) {
	for _, one := range all {
		if series = series.And(one.series); !errors.Is(one.err, worker.ErrEnded) {
			err = errors.Join(err, one.err)
		}
	}
	return series, err
}

// note is what has to be known of the stacks.
func (l way) note() string {
	if l.sampler != nil && l.sampler.Hidden != nil {
		return l.sampler.Hidden.Error()
	}
	return ""
}
