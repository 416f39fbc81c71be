package cli

import (
	"context"
	"fmt"
	"time"

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
}

// openLooker takes the way that was asked for, or the best there is.
func (o *profileOptions) openLooker(sys Sys) (looker, error) {
	if o.by == byPtrace || o.which() != worker.OnCPU {
		return looker{}, nil
	}
	sampler, err := worker.NewSampler()
	switch {
	case err == nil:
		return looker{sampler}, nil
	case o.by == byEBPF:
		return looker{}, err
	}
	fmt.Fprintf(sys.Stderr, "moonlap: %v; looking by ptrace instead, which stops a worker for each look\n", err)
	return looker{}, nil
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

func (l looker) look(ctx context.Context, w *worker.Worker, duration time.Duration, hz float64, tick func(time.Duration)) (worker.Looks, error) {
	if l.sampler != nil {
		return w.Ticks(ctx, l.sampler, duration, hz, tick)
	}
	return w.Look(ctx, duration, hz, tick)
}

// note is what has to be known of the stacks.
func (l looker) note() string {
	if l.sampler != nil && l.sampler.Hidden != nil {
		return l.sampler.Hidden.Error()
	}
	return ""
}
