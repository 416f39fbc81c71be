package sample

import (
	"errors"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/worker"
)

// A Sampler samples workers through eBPF: the kernel copies what a thread does at each tick of its CPU
// clock, and nothing is stopped.
type Sampler struct {
	session *probe.Session
	kernel  *probe.Symbols
	Hidden  error // why frames of the kernel have no names; nil: they have
}

// NewSampler loads the programs. Its error tells what is missing, see probe.Check.
func NewSampler() (*Sampler, error) {
	session, err := probe.Open()
	if err != nil {
		return nil, err
	}
	s := &Sampler{session: session}
	s.kernel, s.Hidden = probe.KernelSymbols()
	return s, nil
}

// Close ends the sampling of all workers.
func (s *Sampler) Close() error { return s.session.Close() }

// attach has the kernel begin to tell what is wanted of the worker.
func (w *Worker) attach(s *Sampler, wants Wants) (*probe.Source, *diary, error) {
	w.LearnRequests() // else the first sample that sees a request tells
	w.followCompilers()
	phase, _ := w.Phase()
	source, err := s.session.Attach(probe.Target{
		PID: w.PID, VM: w.VM, Other: w.Other, Clock: w.Clock(), URI: w.URI(), Context: w.Slot(), Phase: phase,
		Exit: w.exitAt(),
	}, wants.Hz)
	if err != nil {
		return nil, nil, err
	}
	diary := &diary{}
	if wants.Sleeps || wants.Turns > 0 {
		var at probe.Whereabouts
		at, diary.asleep = w.whereabouts()
		if err := source.Sleeps(wants.Turns, at); err != nil {
			source.Detach()
			return nil, nil, err
		}
	}
	return source, diary, nil
}

// follow keeps up with what a worker that runs does: threads that it has started, the place of the URI
// in its requests, its end.
func (w *Worker) follow(source *probe.Source, last process.Stat, start time.Time) (process.Stat, error) {
	w.followCompilers()
	err := errors.Join(source.Threads(), source.SetURI(w.URI()), source.SetExit(w.exitAt()), source.Settled())
	stat, gone := w.Stat()
	if gone != nil || stat.Ended() {
		return last, errEnded(start)
	}
	return stat, err
}

// keepFor is how long prototypes, traces and names that were read of a worker are taken for what they were. A
// snapshot of the kernel is as old when it is read.
const keepFor = 200 * time.Millisecond

// copied is the VM whose Lua the kernel has copied at a snapshot.
func (w *Worker) copied(m *probe.Snapshot) *luajit.VM {
	if w.Other != nil && m.Copied(w.Other.Global+w.Other.Layout.CurrentL) {
		return w.Other
	}
	return w.VM
}

// snapshot makes a sample of what the kernel copied.
func (w *Worker) snapshot(s *Sampler, m *probe.Snapshot) (Sample, error) {
	if time.Since(w.kept) > keepFor {
		w.keep()
	}
	sample, unknown, err := w.sampleOf(s, m)
	if err != nil || unknown { // it may be in a function or a trace newer than what is kept
		w.keep()
		sample, _, err = w.sampleOf(s, m)
	}
	w.Refresh()
	return sample, err
}

// keep begins to keep anew what is read of the worker. Of one that has ended, what was kept is all there is.
func (w *Worker) keep() {
	if w.Ended() {
		return
	}
	w.Keep()
	w.Settle()
	w.kept = time.Now()
}

// sampleOf makes a sample of what the kernel copied and of what is kept of the worker's memory; unknown tells
// that the trace which ran is not there.
func (w *Worker) sampleOf(s *Sampler, m *probe.Snapshot) (sample Sample, unknown bool, err error) {
	memory := m.Over(w.Process)
	var v view
	if !m.Main {
		v.inner, v.partial = w.Unwind(memory, m.Registers, false, false)
	} else if v, err = w.view(w.copied(m).At(memory), memory, m.Registers); err != nil {
		return sample, false, err
	}
	v.request = copiedRequest(w.Worker, m, v.request)
	v.phase = w.PhaseIn(m.Alone(), v.request.Address)
	if v.exit != 0 && !m.Copied(w.copied(m).Global+w.exitAt()) {
		v.exit = 0 // it is of later
	}
	sample.Stack = s.frames(m.Kernel)
	sample.Time, sample.Thread = m.Time, !m.Main
	w.describe(&sample, v)
	return sample, v.lua.Unknown, nil
}

// copiedRequest is a request as far as a snapshot has it: where its texts are may not have been known then, and they may be another
// request's now.
func copiedRequest(w *worker.Worker, m *probe.Snapshot, r ngxlua.Request) ngxlua.Request {
	if w.URI() != 0 && r.Address != 0 && !m.Copied(r.Address+w.URI()) {
		return ngxlua.Request{Address: r.Address, Unread: true}
	}
	return r
}

// RequestAt is the request at an address as a snapshot has it; zero: there is none.
func RequestAt(w *worker.Worker, m *probe.Snapshot, address uint64) ngxlua.Request {
	r, _ := w.Request(m.Over(w.Process), address)
	return copiedRequest(w, m, r)
}

// switching are the kernel's own functions that switch from one thread to another, and what sees it.
var switching = []string{"__schedule", "schedule"}

// hidden stands for functions of a kernel that does not tell where they are.
const hidden = "(kernel, its functions are hidden)"

// frames names the kernel's.
func (s *Sampler) frames(addresses []uint64) []profile.Frame {
	if len(addresses) > 0 && s.kernel == nil {
		return []profile.Frame{{Kind: profile.Kernel, Function: hidden, File: "kernel"}}
	}
	var all []profile.Frame
	for i, address := range addresses {
		if i > 0 {
			address-- // a return address
		}
		f := profile.Frame{Kind: profile.Kernel, Function: s.kernel.Name(address), File: "kernel"}
		if all = append(all, f); slices.Contains(switching, f.Function) {
			all = all[:0] // everyone who sleeps does so there
		}
	}
	return all
}
