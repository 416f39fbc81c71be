package worker

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
)

// Kernel is the kind of a frame in the kernel.
const Kernel luajit.Kind = "kernel"

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

// Wants is what a Sampler is to tell of a worker.
type Wants struct {
	Hz     float64       // ticks of CPU time a second; 0: none
	Sleeps bool          // when it sleeps, though it does not wait for events
	Turns  time.Duration // also turns of the event loop that take so long; 0: none

	// Allocations are looked at instead of ticks, Hz of them a second, for at most such a share of the worker's time; 0: they
	// are not. It goes with neither of those above.
	Allocations float64

	Resumes float64 // time Lua's runs, for at most such a share of the worker's time; 0: don't
}

// Ticks samples the worker at so many ticks of its CPU time a second for a while, and tells tick the
// time that has passed. Where an error ends it early, Looks holds what was seen until then.
func (w *Worker) Ticks(ctx context.Context, s *Sampler, duration time.Duration, hz float64, tick func(time.Duration)) (Looks, error) {
	return w.Watch(ctx, s, duration, Wants{Hz: hz}, tick)
}

// Watch has the kernel tell for a while what is wanted of the worker. It is like Ticks for the rest.
func (w *Worker) Watch(ctx context.Context, s *Sampler, duration time.Duration, wants Wants, tick func(time.Duration)) (Looks, error) {
	l := Looks{Timed: wants.Sleeps || wants.Turns > 0, Began: probe.Now()}
	ticks := wants.Hz
	if wants.Allocations > 0 {
		ticks = 0
	} else if wants.Hz > 0 {
		l.Every = time.Duration(float64(time.Second) / wants.Hz)
	}
	before, err := w.Stat()
	if err != nil {
		return l, err
	}
	source, diary, err := w.attach(s, ticks, wants)
	if err != nil {
		return l, err
	}
	var allocations *allocationProbe
	if wants.Allocations > 0 {
		if allocations, err = w.probeAllocations(source, wants.Hz, wants.Allocations); err != nil {
			source.Detach()
			return l, err
		}
	}
	var resumes *resumeProbe
	if wants.Resumes > 0 {
		if resumes, err = w.probeResumes(source, wants.Resumes); err != nil {
			source.Detach()
			return l, err
		}
	}
	start := time.Now()
	last := before // an ended worker's can't be read any more
	during, stop := context.WithTimeout(ctx, duration)
	defer stop()
	over := during.Done()
	allocations.begin(during, stop)
	resumes.begin(during, stop)
	chores := time.NewTicker(250 * time.Millisecond)
	defer chores.Stop()
	defer w.Forget()
	for moments := source.Moments(); moments != nil; {
		select {
		case m, ok := <-moments:
			if !ok {
				moments = nil
				break
			}
			known := w.request.uri
			if m.Run != nil {
				resumes.note(m)
			} else {
				w.note(s, m, &l, diary)
			}
			if w.request.uri != known {
				err = errors.Join(err, source.SetURI(w.request.uri))
			}
		case <-chores.C:
			if over == nil {
				break
			}
			tick(time.Since(start))
			allocations.keepHeap()
			if last, err = w.follow(source, last, start); err != nil {
				stop()
			}
		case <-over:
			over = nil
			allocations.end()
			resumes.end()
			source.Detach()
			l.Start, l.Elapsed = start, time.Since(start)
			if after, e := w.Stat(); e == nil {
				last = after
			}
		}
	}
	l.Compilation = w.compilation()
	l.Used = time.Duration(last.Ticks-before.Ticks) * clockTick
	l.CPU = float64(l.Used) / float64(l.Elapsed)
	lost, lostErr := source.Lost()
	l.Lost = int(lost)
	if l.Timed {
		var restErr error
		l.Rest, restErr = source.Rest()
		lostErr = errors.Join(lostErr, restErr)
		diary.end(w.PID, &l, wants.Turns)
	}
	if wants.Allocations > 0 {
		lostErr = errors.Join(lostErr, allocations.sum(&l))
	}
	if wants.Resumes > 0 {
		lostErr = errors.Join(lostErr, resumes.sum(&l))
	}
	return l, cmp.Or(err, ctx.Err(), lostErr)
}

// attach has the kernel begin to tell what is wanted of the worker, with so many ticks a second.
func (w *Worker) attach(s *Sampler, ticks float64, wants Wants) (*probe.Source, *diary, error) {
	w.learnRequests() // else the first look that sees a request tells
	w.followCompilers()
	source, err := s.session.Attach(probe.Target{
		PID: w.PID, VM: w.VM, Other: w.stream, Clock: w.clock(), URI: w.request.uri, Context: w.slot(), Phase: w.luaCtx.phase,
		Exit: w.exitAt(),
	}, ticks)
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
	err := errors.Join(source.Threads(), source.SetURI(w.request.uri), source.SetExit(w.exitAt()))
	stat, gone := w.Stat()
	if gone != nil || stat.Ended() {
		return last, errEnded(start)
	}
	return stat, err
}

// keepFor is how long prototypes, traces and names that were read of a worker are taken for what they were. A
// moment that the kernel copied is as old when it is looked at.
const keepFor = 200 * time.Millisecond

// moment makes a sample of what the kernel copied.
func (w *Worker) moment(s *Sampler, m *probe.Moment) (Sample, error) {
	if time.Since(w.kept) > keepFor {
		w.keep()
	}
	sample, unknown, err := w.look(s, m)
	if err != nil || unknown { // it may be in a function or a trace newer than what is kept
		w.keep()
		sample, _, err = w.look(s, m)
	}
	if w.unmapped || w.unnamed {
		w.refresh()
	}
	return sample, err
}

// keep begins to keep anew what is read of the worker. Of one that has ended, what was kept is all there is.
func (w *Worker) keep() {
	if stat, err := w.Stat(); err != nil || stat.Ended() {
		return
	}
	w.Keep()
	w.settle()
	w.kept = time.Now()
}

// look makes a sample of what the kernel copied and of what is kept of the worker's memory; unknown tells
// that the trace which ran is not there.
func (w *Worker) look(s *Sampler, m *probe.Moment) (sample Sample, unknown bool, err error) {
	memory := m.Over(w.Process)
	var v view
	if !m.Main {
		v.inner, v.partial = w.unwind(memory, m.Registers, false, false)
	} else if v, err = w.view(w.copied(m).At(memory), memory, m.Registers); err != nil {
		return sample, false, err
	}
	if r := &v.request; w.request.uri != 0 && r.Address != 0 && !m.Copied(r.Address+w.request.uri) {
		*r = Request{Address: r.Address, Unread: true} // it was not known where its texts are: they may be another request's now
	}
	v.phase = w.phaseIn(m.Alone(), v.request.Address)
	if v.exit != 0 && !m.Copied(w.copied(m).Global+w.exitAt()) {
		v.exit = 0 // it is of later
	}
	sample.Stack = s.frames(m.Kernel)
	sample.Time, sample.Thread = m.Time, !m.Main
	w.describe(&sample, v)
	return sample, v.lua.Unknown, nil
}

// switching are the kernel's own functions that switch from one thread to another, and what sees it.
var switching = []string{"__schedule", "schedule"}

// hidden stands for functions of a kernel that does not tell where they are.
const hidden = "(kernel, its functions are hidden)"

// frames names the kernel's.
func (s *Sampler) frames(addresses []uint64) []Frame {
	if len(addresses) > 0 && s.kernel == nil {
		return []Frame{{Kind: Kernel, Function: hidden, File: "kernel"}}
	}
	var all []Frame
	for i, address := range addresses {
		if i > 0 {
			address-- // a return address
		}
		f := Frame{Kind: Kernel, Function: s.kernel.Name(address), File: "kernel"}
		if all = append(all, f); slices.Contains(switching, f.Function) {
			all = all[:0] // everyone who sleeps does so there
		}
	}
	return all
}
