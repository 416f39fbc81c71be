package resumes

import (
	"errors"
	"time"

	"github.com/cilium/ebpf"

	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/probe"
)

// kernelTimer is a timer by programs in the kernel.
type kernelTimer struct {
	probe.Loaded[*resumeObjects]
	probe.Uprobes
	target target
	times  uint32 // that it was attached
}

var programs = probe.Beside[*resumeObjects]{
	What: "resumes", Spec: loadResume, Objects: func() *resumeObjects { return &resumeObjects{} },
	Workers: []string{resumeMapResumers},
	Trial: func(l probe.Loaded[*resumeObjects], pid int, file string, offset uint64) (func(), error) {
		t := newTimer(l, target{pid: pid, file: file, functions: []function{{offset: offset, given: ofHandler}}})
		return t.Detach, t.Attach()
	},
}

// timing prepares to time the source's worker.
func timing(source *probe.Source, t target) (timer, error) {
	if err := probe.MayReturn(t.pid); err != nil {
		return nil, err
	}
	l, err := programs.Load(source)
	if err != nil {
		return nil, err
	}
	const bits = 8 // of a byte
	at := resumeResumer{Mask: 1<<(bits*t.phaseSize) - 1}
	err = l.Objects.Resumers.Put(uint32(l.Number), &at)
	return newTimer(l, t), probe.Explain("describe the worker", err)
}

func newTimer(l probe.Loaded[*resumeObjects], t target) *kernelTimer {
	return &kernelTimer{Loaded: l, target: t, Uprobes: probe.Uprobes{PID: t.pid, File: t.file, What: "resumes"}}
}

// Attach begins to time. A resume or a wait counts where its beginning and its end fall into the same attachment.
func (t *kernelTimer) Attach() error {
	t.times++
	sites := make([]probe.Site, 0, 2*len(t.target.functions))
	for _, returns := range []bool{true, false} {
		for _, f := range t.target.functions {
			const phaseAt, givenAt, timesAt = 16, 24, 32 // as in resume.h
			site := probe.Site{Program: t.Objects.Enters, Offset: f.offset, Returns: returns}
			if returns {
				site.Program = t.Objects.Leaves
			}
			site.Cookie = uint64(t.Number) | uint64(f.phase)<<phaseAt | uint64(f.given)<<givenAt | uint64(t.times)<<timesAt
			sites = append(sites, site)
		}
	}
	return t.Uprobes.Attach(sites...)
}

// Cost implements timer.
func (t *kernelTimer) Cost() (spent, error) {
	var r resumeResumer
	err := t.Objects.Resumers.Lookup(uint32(t.Number), &r)
	return spent{r.Traps, time.Duration(r.Looks), r.Lost}, probe.Explain("read the cost of the probe", err)
}

// Read implements timer.
func (t *kernelTimer) Read() (all []Phase, err error) {
	var key resumePhase
	var r resumeResumed
	phases := t.Objects.Phases.Iterate()
	for phases.Next(&key, &r) {
		if key.Worker != uint32(t.Number) {
			continue
		}
		own, whole, waits := &r.Own, &r.Whole, &r.Waits
		all = append(all, Phase{
			Phase: ngxlua.PhaseNamed(key.Context), Began: int(r.Fresh), NoCPU: time.Duration(r.Queued),
			Own:   probe.DurationsOf(own.Sum, own.Least, own.Longest, own.Counts[:]),
			Whole: probe.DurationsOf(whole.Sum, whole.Least, whole.Longest, whole.Counts[:]),
			Wait:  probe.DurationsOf(waits.Sum, waits.Least, waits.Longest, waits.Counts[:]),
		})
	}
	if err := phases.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return nil, probe.Explain("read the times of resumes", err)
	}
	return all, nil
}
