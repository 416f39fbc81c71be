// Package observe has kinds of evidence observed at workers that run.
package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/worker"
)

// A Kind is what is observed only where it is asked for, because that costs workers time.
type Kind interface {
	Name() string        // in documents, and of its flag
	Usage() string       // of that flag
	Conflicts() []string // other kinds: each would find the other's cost in its figures
	// Observe prepares to observe a worker, at a cost of at most a share of one processor (0.01: 1 %).
	Observe(w *worker.Worker, budget float64) (Observer, error)
}

// An Observer observes one worker.
type Observer interface {
	Run(ctx context.Context) error // until ctx ends
	// Result is what was observed since it was last asked for. It may be asked for while Run goes on.
	Result() (evidence.Result, error)
	Close()
}

// Possible tells what is missing on this machine, to this process, to observe anything; see probe.Check.
func Possible() error {
	session, err := probe.Open()
	if err != nil {
		return err
	}
	return session.Close()
}

// Observing is the observers of one worker while they run.
type Observing struct {
	stop      func()
	running   sync.WaitGroup
	observers map[string]Observer
	failed    map[string]error // kinds that cannot be observed at this worker
}

// Begin observes a worker until Close, which has to be called. Refused says which kinds cannot be observed.
func Begin(w *worker.Worker, kinds []Kind, budget float64) *Observing {
	ctx, stop := context.WithCancel(context.Background())
	o := &Observing{stop: stop, observers: map[string]Observer{}, failed: map[string]error{}}
	for _, k := range kinds {
		one, err := k.Observe(w, budget)
		if err != nil {
			o.failed[k.Name()] = err
			continue
		}
		o.observers[k.Name()] = one
		o.running.Go(func() { one.Run(ctx) }) // its error comes with the results
	}
	return o
}

// Refused says why kinds cannot be observed at this worker; nil: all are.
func (o *Observing) Refused() error {
	var errs []error
	for kind, err := range o.failed {
		errs = append(errs, fmt.Errorf("--%s: %w", kind, err))
	}
	return errors.Join(errs...)
}

// Results are what was observed since it was last asked for. Its errors are those of Refused, too.
func (o *Observing) Results() (evidence.Set, error) {
	results := evidence.Set{}
	errs := []error{o.Refused()}
	for kind, one := range o.observers {
		result, err := one.Result()
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", kind, err))
			continue
		}
		results[kind] = result
	}
	return results, errors.Join(errs...)
}

// Stop ends the observing; what was observed until then stays.
func (o *Observing) Stop() {
	o.stop()
	o.running.Wait()
}

// Close ends the observing and forgets what was observed.
func (o *Observing) Close() {
	o.Stop()
	for _, one := range o.observers {
		one.Close()
	}
}
