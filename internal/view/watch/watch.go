// Package watch turns what is read of nginx workers over an interval into rates, shares and lists.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/collector"
	"github.com/moonlap/moonlap/internal/evidence/dicts"
	"github.com/moonlap/moonlap/internal/evidence/requests"
	"github.com/moonlap/moonlap/internal/evidence/timers"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/worker"
)

// A watcher watches one worker, interval after interval.
type watcher struct {
	// Dicts has the shared dicts read of the nginx that the worker belongs to, with their Largest entries.
	Dicts   bool
	Largest int

	w         *worker.Worker
	events    *process.EventCounts
	health    []health // of its machines
	collector *collector.Watch
	recent    []Recent
	observing *observe.Observing // nil: nobody asked
}

// newWatcher prepares to watch a worker. Close it before the worker is closed.
func newWatcher(w *worker.Worker) *watcher {
	watcher := &watcher{w: w, events: process.CountEvents(w.PID), collector: collector.NewWatch(w, 2*time.Millisecond, 8*time.Millisecond)}
	for _, m := range w.Machines() {
		watcher.health = append(watcher.health, health{w: w, vm: m.VM})
	}
	return watcher
}

// Close gives back what Of took.
func (w *watcher) Close() {
	if w.observing != nil {
		w.observing.Close()
	}
	w.events.Close()
}

// Observe adds kinds of evidence to the intervals, at a cost of at most a share of the worker's time (0.01: 1 %). Those
// that cannot be observed are among what is Unknown, with the reason.
func (w *watcher) Observe(kinds []observe.Kind, budget float64) {
	w.observing = observe.Begin(context.Background(), observe.At{Worker: w.w, Budget: budget}, kinds)
}

// observed fills in what was asked for and observed since the interval before.
func (r *Row) observed(o *observe.Observing, shared *dicts.Observer) {
	r.asked = evidence.Set{}
	if o != nil {
		var err error
		if r.asked, err = o.Results(); err != nil {
			r.Unknown = append(r.Unknown, err.Error())
		}
	}
	if shared != nil {
		result, err := shared.Result()
		if err != nil {
			r.unknown("shared dicts", err)
		}
		evidence.Put(r.asked, dicts.Name, result)
	}
}

// Failed is the row of a worker that could not be watched.
func Failed(pid int, err error) Row { return Row{Facts: Facts{PID: pid, Error: err.Error()}} }

// Interval watches the worker for an interval.
func (w *watcher) Interval(ctx context.Context, duration time.Duration) Row {
	r := Row{Facts: Facts{PID: w.w.PID, Master: process.Parent(w.w.PID)}, Evidence: evidence.Set{}}
	before, err := w.w.Usage()
	if err != nil {
		return Failed(w.w.PID, err)
	}
	eventsBefore := w.events.Read()
	var s span
	s.from, s.err = w.w.Nginx.Counters()
	var shared *dicts.Observer
	if w.Dicts {
		shared = dicts.Observe(w.w.Nginx, w.Largest)
	}
	collected := w.collector.Follow(ctx)
	read := readFor(ctx, w.w, duration)
	collections := collected()
	after, err := w.w.Usage()
	if errors.Is(err, fs.ErrNotExist) {
		return Failed(w.w.PID, fmt.Errorf("worker %d ended meanwhile", w.w.PID))
	}
	if err != nil {
		return Failed(w.w.PID, err)
	}
	s.to, _ = w.w.Nginx.Counters()
	if s.zones, err = w.w.Nginx.Zones(); err != nil {
		r.unknown("shared memory", err)
	}
	r.usage(before, after)
	r.count(eventsBefore, w.events.Read())
	r.states(read)
	if err := collections.Err; err != nil {
		r.unknown("what the garbage collector did", err)
	}
	evidence.Put(r.Evidence, collector.Name, collector.Of(r.PID, collections, read.States[luajit.Collect], read.Count))
	r.state(w)
	r.observed(w.observing, shared)
	r.Recent = w.remember(r)
	r.moment.span, r.moment.missing = s, w.events.Missing
	return r
}

// mostRecent is how many intervals are remembered.
const mostRecent = 8

// remember adds an interval to those that are remembered.
func (w *watcher) remember(r Row) []Recent {
	now := Recent{States: map[string]float64{}, Heap: r.Heap}
	for state, share := range r.States {
		now.States[state] = r.Lua * share
	}
	w.recent = append(w.recent, now)
	w.recent = w.recent[max(0, len(w.recent)-mostRecent):]
	return slices.Clone(w.recent)
}

// A span is what nginx counts of all its workers, at both ends of an interval.
type span struct {
	from, to nginx.Counters
	err      error
	zones    []nginx.Zone
}

func (r *Row) unknown(what string, err error) {
	r.Unknown = append(r.Unknown, fmt.Sprintf("%s: %v", what, err))
}

// usage fills in what the kernel has counted over the interval.
func (r *Row) usage(before, after process.Usage) {
	elapsed := after.At.Sub(before.At)
	rate := func(from, to uint64) float64 { return perSecond(from, to, elapsed) }
	share := func(from, to time.Duration) float64 {
		return max(0, min(1, float64(to-from)/float64(max(elapsed, 1))))
	}
	r.CPU, r.Wait = share(before.CPU, after.CPU), share(before.Wait, after.Wait)
	r.RSS, r.Sockets = after.RSS, after.Sockets
	r.Voluntary, r.Involuntary = rate(before.Voluntary, after.Voluntary), rate(before.Involuntary, after.Involuntary)
	r.MajorFaults = rate(before.MajorFaults, after.MajorFaults)
	r.Read, r.Write = rate(before.Read, after.Read), rate(before.Write, after.Write)
	r.DiskRead, r.DiskWrite = rate(before.DiskRead, after.DiskRead), rate(before.DiskWrite, after.DiskWrite)
	r.moment.usage, r.moment.began = after, before
}

func perSecond(from, to uint64, elapsed time.Duration) float64 {
	if to < from || elapsed <= 0 {
		return 0
	}
	return float64(to-from) / elapsed.Seconds()
}

func (r *Row) count(before, after map[process.Event]uint64) {
	r.Events = map[process.Event]float64{}
	for event, n := range after {
		r.Events[event] = perSecond(before[event], n, r.moment.usage.At.Sub(r.moment.began.At))
	}
	r.moment.events, r.moment.eventsBegan = after, before
}

// states fills in what was read during the interval.
func (r *Row) states(g readings) {
	r.States, r.Phases, r.Busiest = map[string]float64{}, map[string]record.Interval{}, most(g.Requests)
	if g.Count > 0 {
		r.Lua = float64(g.Lua) / float64(g.Count)
	}
	for state, n := range g.States {
		r.States[state.String()] = float64(n) / float64(g.Lua)
	}
	for phase, n := range g.Phases {
		r.Phases[phase] = estimate.Share(n, g.Count)
	}
	if err := g.Connections.Err; err != nil {
		r.unknown("connections", err)
	} else {
		r.Connections = &g.Connections.Connections
	}
	if err := g.Loop.Err; err != nil {
		r.unknown("event loop", err)
	} else {
		r.Loop = loopOf(g.Loop)
	}
	r.moment.waits = g.Loop.Wait
}

func loopOf(l turns) *Loop {
	waits := slices.Sorted(slices.Values(l.Wait))
	if len(waits) == 0 {
		return nil
	}
	// The value that a share of all are at or below.
	at := func(share float64) time.Duration { return waits[min(len(waits)-1, int(share*float64(len(waits))))] }
	return &Loop{
		P50: at(0.5), P90: at(0.9), P99: at(0.99), Most: waits[len(waits)-1],
		Samples: len(waits), Turns: l.Turns, Resolution: l.Resolution,
	}
}

// mostRequests is how many requests of a worker are listed.
const mostRequests = 100

// state fills in what is there at the interval's end.
func (r *Row) state(w *watcher) {
	machines := w.w.Machines()
	r.LuaVM = r.machine(machines[0], &w.health[0])
	for i, m := range machines[1:] {
		other := r.machine(m, &w.health[1+i])
		r.Stream = &other
	}
	r.Pools = w.w.Pools()
	inFlight, err := w.w.InFlight()
	if err != nil {
		r.unknown("requests in flight", err)
	} else {
		r.Evidence[requests.Name] = requests.Of(w.w.PID, inFlight, mostRequests)
	}
	set, err := timers.Of(w.w, inFlight)
	if err != nil {
		r.unknown("timers", err)
	}
	evidence.Put(r.Evidence, timers.Name, set)
}

// machine is the state of one of the worker's Lua VMs.
func (r *Row) machine(m worker.Machine, h *health) LuaVM {
	var l LuaVM
	gc, err := m.VM.GC()
	l.Heap = gc.InUse
	if err != nil {
		r.unknown("garbage collector", err)
	} else {
		l.GC = &GC{Phase: gc.Phase.String(), Threshold: gc.Threshold, Stopped: gc.Stopped()}
	}
	if l.JIT, err = h.read(); err != nil {
		r.unknown("compiler", err)
	} else {
		l.Traces = l.JIT.Root + l.JIT.Side
	}
	return l
}

// most is the name with the largest number, the first by name of several.
func most(counts map[string]int) (name string) {
	for other, n := range counts {
		if best := counts[name]; n > best || n == best && strings.Compare(other, name) < 0 {
			name = other
		}
	}
	return name
}

// StateOf is the state that Lua was in most often, or "".
func (r Row) StateOf() string {
	best := ""
	for _, s := range []luajit.State{luajit.Compiled, luajit.Interpreted, luajit.InC, luajit.Collect} {
		if r.States[s.String()] > r.States[best] {
			best = s.String()
		}
	}
	return best
}
