// Package observe has kinds of evidence observed at workers that run.
package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/worker"
)

// A Kind is what is observed only where it is asked for, because that costs workers time.
type Kind struct {
	Name      string   // in documents, and of its flag
	Usage     string   // of that flag
	Conflicts []string // other kinds: each would find the other's cost in its figures
	Programs  bool     // any program with LuaJIT has it; else nginx workers alone
	// Counts is what a profile counts of the samples that the observers take, which are Samplers: it is then of nothing else. "" is a
	// kind that is observed beside the samples of a profile.
	Counts profile.Unit
	// Observe prepares to observe a worker.
	Observe func(At) (Observer, error)
}

// At is where a kind is observed, and at which cost.
type At struct {
	*worker.Worker
	Sampling *sample.Sampling // of that worker; nil: it is not sampled
	Budget   float64          // share of one processor (0.01: 1 %) that observing may take at most
	Hz       float64          // samples a second of the worker's CPU time, of a kind that takes its own
}

// An Observer observes one worker.
type Observer interface {
	Run(ctx context.Context) error // until ctx ends
	// Result is what was observed since it was last asked for. It may be asked for while Run goes on.
	Result() (evidence.Result, error)
	Close()
}

// A Sampler is an Observer that takes samples of its own.
type Sampler interface {
	Samples() []sample.Sample // all of them, once there was a Result
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
	context.Context // ends where one of them fails
	fail, stop      func()
	running         sync.WaitGroup
	observers       map[string]Observer
	failed          map[string]error // kinds that cannot be observed at this worker
}

// Begin observes a worker until ctx ends, or Close, which has to be called. Refused says which kinds cannot be observed.
func Begin(ctx context.Context, at At, kinds []Kind) *Observing {
	o := &Observing{observers: map[string]Observer{}, failed: map[string]error{}}
	o.Context, o.fail = context.WithCancel(ctx)
	during, stop := context.WithCancel(o.Context)
	o.stop = stop
	for _, k := range kinds {
		one, err := k.Observe(at)
		if err != nil {
			o.failed[k.Name] = err
			continue
		}
		o.observers[k.Name] = one
		o.running.Go(func() {
			if one.Run(during) != nil { // which comes with the results
				o.fail()
			}
		})
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

// Samples are those that the observers have taken themselves, once there were Results.
func (o *Observing) Samples() (all []sample.Sample) {
	for _, one := range o.observers {
		if s, ok := one.(Sampler); ok {
			all = append(all, s.Samples()...)
		}
	}
	return all
}

// Stop ends the observing; what was observed until then stays.
func (o *Observing) Stop() {
	o.stop()
	o.running.Wait()
}

// Close ends the observing and forgets what was observed.
func (o *Observing) Close() {
	o.Stop()
	o.fail()
	for _, one := range o.observers {
		one.Close()
	}
}
