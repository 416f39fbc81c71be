package profiles

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/worker"
)

// Ways to sample workers: the best there is, through eBPF, or by stops.
const (
	Auto   = "auto"
	EBPF   = "ebpf"
	Ptrace = "ptrace"
)

// Options say what is sampled of workers, and how.
type Options struct {
	By     string
	Mode   Mode
	Beside []observe.Kind // of evidence that are observed beside what the mode counts
	Hz     float64        // samples a second; through eBPF of CPU time
	Stalls time.Duration  // from which length on a turn of the event loop is one; 0: not asked for
	Pause  time.Duration  // that a sample may stop a worker for, by ptrace
	Budget float64        // share of a worker's time that evidence may cost
}

// kinds are those that are observed: those beside the mode, and that of the mode.
func (o Options) kinds() []observe.Kind {
	all := slices.Clone(o.Beside)
	if o.Mode.kind != nil {
		all = append(all, *o.Mode.kind)
	}
	return all
}

// needsEBPF names a flag that samples which stop a worker do not do; "": there is none.
func (o Options) needsEBPF() string {
	for _, k := range o.kinds() {
		return k.Name
	}
	if o.Mode.timed {
		return o.Mode.Name
	}
	return ""
}

// Check refuses what kinds and modes do not go with: stops, files, and programs that are no nginx.
func (o Options) Check(files, program bool) error {
	if name := o.needsEBPF(); name != "" && o.By == Ptrace {
		return fmt.Errorf("--%s takes eBPF: samples that stop a worker do not see it", name)
	}
	for _, k := range o.kinds() {
		what := "nginx workers that run: --pid, --master or --all"
		if k.Programs {
			what = "workers that run, or a command"
		}
		if files || program && !k.Programs {
			return fmt.Errorf("--%s is for %s", k.Name, what)
		}
	}
	return nil
}

// A Way is how workers are sampled.
type Way struct {
	Options
	sampler *sample.Sampler // nil: each sample stops the worker
	// began is called with what observes a worker, and returns what is called before that ends; nil: nobody asks meanwhile.
	began func(*observe.Observing) (ends func())
	// opened is called when a worker is about to be sampled, and when there is no more to be seen of one; nil: nobody waits.
	opened func()
}

// Open takes the way that was asked for, or the best there is, with a warning where that is by stops.
func Open(o Options, warn func(string)) (*Way, error) {
	w := &Way{Options: o}
	if o.By == Ptrace {
		return w, nil
	}
	// Samples are kept until the end. The collector's usual room, as much again, costs the machine more than collecting
	// oftener, which of so few pointers is soon done.
	debug.SetGCPercent(25)
	sampler, err := sample.NewSampler()
	switch {
	case err == nil:
		w.sampler = sampler
		return w, nil
	case !errors.Is(err, probe.ErrUnsupported):
		return nil, err
	case o.By == EBPF || o.needsEBPF() != "":
		return nil, errUnsupported(err)
	}
	warn(fmt.Sprintf("%v; sampling by ptrace instead, which stops a worker for each sample%s", err, o.Mode.withoutTimes()))
	return w, nil
}

// HzFor is a rate at which some samples fall into a turn of the event loop that takes so long.
func HzFor(long time.Duration) float64 {
	const usual, most, series = 99, 999, 4
	return min(most, max(usual, series/long.Seconds()))
}

// Unit is what the profile counts.
func (w *Way) Unit() profile.Unit {
	if w.sampler == nil {
		return ""
	}
	return w.Mode.unit()
}

// Name is EBPF or Ptrace.
func (w *Way) Name() string {
	if w.sampler != nil {
		return EBPF
	}
	return Ptrace
}

// note is what has to be known of the stacks.
func (w *Way) note() string {
	if w.sampler != nil && w.sampler.Hidden != nil {
		return w.sampler.Hidden.Error()
	}
	return ""
}

// Close gives back what Open took.
func (w *Way) Close() error {
	if w.sampler == nil {
		return nil
	}
	return w.sampler.Close()
}

// Sampled is what became of one worker.
type Sampled struct {
	pid      int
	series   sample.Series
	evidence evidence.Set // that was asked for besides
	err      error
}

// sample samples a worker for a while; tick is called meanwhile.
func (w *Way) sample(ctx context.Context, of *worker.Worker, duration time.Duration, tick func(time.Duration)) (seen Sampled) {
	seen.pid = of.PID
	if w.sampler == nil {
		stopping := sample.Of(of)
		stopping.Hold = w.Pause
		if w.opened != nil {
			w.opened()
		}
		seen.series, seen.err = stopping.Poll(ctx, duration, w.Hz, tick)
		return seen
	}
	sampling, err := sample.Of(of).Sampling(w.sampler, w.Mode.wants(w.Hz, w.Stalls))
	if err != nil {
		seen.err = err
		return seen
	}
	observing := observe.Begin(ctx, observe.At{Worker: of, Sampling: sampling, Budget: w.Budget, Hz: w.Hz}, w.kinds())
	defer observing.Close()
	if seen.err = observing.Refused(); seen.err != nil {
		sampling.Close()
		return seen
	}
	if w.began != nil {
		defer w.began(observing)()
	}
	if w.opened != nil {
		w.opened()
	}
	seen.series, seen.err = sampling.Run(observing, duration, tick, observing.Stop)
	if seen.evidence, err = observing.Results(); err != nil && ctx.Err() == nil {
		seen.err = err // which has ended the sampling
	}
	if w.Mode.kind != nil {
		seen.series.Samples = observing.Samples()
	}
	return seen
}
