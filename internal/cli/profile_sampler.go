package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/worker"
)

// Ways to look at workers.
const (
	byAuto   = "auto"
	byEBPF   = "ebpf"
	byPtrace = "ptrace"
)

// A looker is a way to look at workers.
type looker struct {
	sampler *worker.Sampler // nil: each look stops the worker
	wants   worker.Wants
	hold    time.Duration  // that a look may stop the worker for
	kinds   []observe.Kind // of evidence that are observed besides
	budget  float64        // share of a worker's time that these may cost
}

// openLooker takes the way that was asked for, or the best there is.
func (o *profileOptions) openLooker(sys Sys) (looker, error) {
	l := looker{wants: worker.Wants{Hz: o.hz}, hold: o.pause}
	if o.by == byPtrace {
		return l, nil
	}
	// Looks are kept until the end. The collector's usual room, as much again, costs the machine more than collecting
	// oftener, which of so few pointers is soon done.
	debug.SetGCPercent(25)
	sampler, err := worker.NewSampler()
	switch {
	case err != nil && !errors.Is(err, probe.ErrUnsupported):
		return l, err
	case err != nil && (o.by == byEBPF || o.stalls > 0 || len(o.evidence.wanted()) > 0 || o.resumes || o.allocations):
		return l, fmt.Errorf("%w. Without eBPF, --by ptrace shows where workers compute and sleep, which takes CAP_SYS_PTRACE alone; "+
			"--stalls, --locks, --resumes and --allocations there are not", err)
	case err != nil:
		fmt.Fprintf(sys.Stderr, "moonlap: %v; sampling by ptrace instead, which stops a worker for each sample%s\n", err, o.withoutTimes())
		return l, nil
	case o.baseline != "" && o.which() != worker.OnCPU:
		sampler.Close()
		return l, usageErrorf("--baseline compares samples, and %s is about time: with --by ptrace it has samples", o.which())
	}
	l.sampler = sampler
	l.kinds, l.budget = o.evidence.wanted(), float64(o.budget)
	if o.resumes {
		l.wants.Resumes = float64(o.budget)
	}
	if o.allocations {
		l.wants.Allocations = float64(o.budget)
		return l, nil
	}
	l.wants.Turns = o.stalls
	l.wants.Sleeps = o.which() != worker.OnCPU
	if o.which() == worker.OffCPU {
		l.wants.Hz = 0
	}
	return l, nil
}

// withoutTimes is what looks that stop a worker cannot tell.
func (o *profileOptions) withoutTimes() string {
	if o.which() == worker.OnCPU {
		return ""
	}
	return "; so no durations are known, and short sleeps are missed"
}

// intoStalls is a rate at which some looks fall into a turn of the event loop that takes so long.
func intoStalls(long time.Duration) float64 {
	const usual, most, looks = 99, 999, 4
	return min(most, max(usual, looks/long.Seconds()))
}

// unit is what the profile counts.
func (l looker) unit() profile.Unit {
	switch {
	case l.wants.Sleeps:
		return profile.Time
	case l.wants.Allocations > 0:
		return profile.Bytes
	}
	return ""
}

func (l looker) name() string {
	if l.sampler != nil {
		return byEBPF
	}
	return byPtrace
}

func (l looker) close() error {
	if l.sampler == nil {
		return nil
	}
	return l.sampler.Close()
}

func (l looker) look(ctx context.Context, w *worker.Worker, duration time.Duration, tick func(time.Duration)) (seen looked) {
	seen.pid = w.PID
	if l.sampler == nil {
		w.Hold = l.hold
		seen.looks, seen.err = w.Look(ctx, duration, l.wants.Hz, tick)
		return seen
	}
	observing := observe.Begin(w, l.kinds, l.budget)
	defer observing.Close()
	if seen.err = observing.Refused(); seen.err != nil {
		return seen
	}
	seen.looks, seen.err = w.Watch(ctx, l.sampler, duration, l.wants, tick)
	observing.Stop()
	var err error
	if seen.evidence, err = observing.Results(); seen.err == nil {
		seen.err = err
	}
	return seen
}

// note is what has to be known of the stacks.
func (l looker) note() string {
	if l.sampler != nil && l.sampler.Hidden != nil {
		return l.sampler.Hidden.Error()
	}
	return ""
}
