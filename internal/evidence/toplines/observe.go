package toplines

import (
	"context"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/worker"
)

// Kind is what 'moonlap watch --top-lines' shows.
var Kind = observe.Kind{Name: Name, Usage: "a live top of Lua's lines and functions, by samples\nthrough eBPF", Observe: observeLines}

const (
	hz   = 99
	keep = 2 * time.Second // of the tail, whose samples are taken four times a second
)

// An observer gathers the samples of a worker until they are asked for.
type observer struct {
	worker  *worker.Worker // its own: whoever watches reads the same process meanwhile
	sampler *sample.Sampler

	lock    sync.Mutex
	pending []sample.Sample
	err     error // why there are no more
}

func observeLines(at observe.At) (observe.Observer, error) {
	sampler, err := sample.NewSampler()
	if err != nil {
		return nil, err
	}
	own, err := worker.Open(at.PID)
	if err != nil {
		sampler.Close()
		return nil, err
	}
	return &observer{worker: own, sampler: sampler}, nil
}

// Run gathers samples until ctx ends, or the worker does.
func (o *observer) Run(ctx context.Context) error {
	err := sample.Of(o.worker).Tail(ctx, o.sampler, sample.Wants{Hz: hz}, keep, func(t *sample.Tail) {
		o.lock.Lock()
		defer o.lock.Unlock()
		o.pending = append(o.pending, t.Samples[len(t.Samples)-min(t.New, len(t.Samples)):]...)
	})
	o.lock.Lock()
	defer o.lock.Unlock()
	o.err = err
	return err
}

// Result is what was seen since the last one.
func (o *observer) Result() (evidence.Result, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	r := resultOf(o.pending)
	o.pending = nil
	return r, o.err
}

// Close gives back what observing took.
func (o *observer) Close() {
	o.sampler.Close()
	o.worker.Close()
}
