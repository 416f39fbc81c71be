package resumes

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/worker"
)

// Kind is how long each resume takes, which is timed by probes in the worker.
var Kind = observe.Kind{
	Name: Name, Usage: "also time each resume by phase, and waits between",
	Conflicts: []string{"allocations", "locks"}, Observe: observeResumes,
}

// An observer times the resumes of one worker.
type observer struct {
	*probe.Cycle
	timer
	at     observe.At
	unseen []string
	before Result // what was timed until Result was last asked for

	lock sync.Mutex // of what follows
	long []Long     // since then
}

// runThread runs a coroutine, until it yields or ends, for most phases; which one, it reads of the request.
const runThread = "ngx_http_lua_run_thread"

// callers are the functions that call Lua in other phases, by the phase: each of those in a list is called for some of the
// runs. Where they begin the module has loaded the code already, or finds it in its cache.
var callers = []struct {
	phase     string
	given     given
	functions []string
}{
	{"set", ofChunk, []string{"ngx_http_lua_set_by_chunk"}},
	{"header_filter", ofChunk, []string{"ngx_http_lua_header_filter_by_chunk"}},
	{"body_filter", ofChunk, []string{"ngx_http_lua_body_filter_by_chunk"}},
	{"log", ofHandler, []string{"ngx_http_lua_log_handler_inline", "ngx_http_lua_log_handler_file"}},
	{"balancer", ofHandler, []string{"ngx_http_lua_balancer_handler_inline", "ngx_http_lua_balancer_handler_file"}},
	{"ssl_sess_store", ofHandler, []string{"ngx_http_lua_ssl_sess_store_handler_inline", "ngx_http_lua_ssl_sess_store_handler_file"}},
	{"exit_worker", ofHandler, []string{"ngx_http_lua_exit_worker_by_inline", "ngx_http_lua_exit_worker_by_file"}},
}

// observeResumes prepares to time a worker's resumes. Its error may be probe.ErrDear.
func observeResumes(at observe.At) (observe.Observer, error) {
	if at.Object == nil {
		return nil, errors.New("its Lua serves no HTTP requests; streams are not timed")
	}
	_, phase := at.Phase()
	t := target{pid: at.PID, phaseSize: phase}
	if err := add(at.Worker, &t, runThread, ofThread, 0); err != nil {
		return nil, err
	}
	o := &observer{at: at}
	for _, c := range callers {
		for _, f := range c.functions {
			if err := add(at.Worker, &t, f, c.given, ngxlua.PhaseBit(c.phase)); err != nil {
				o.unseen = append(o.unseen, c.phase)
				break
			}
		}
	}
	const trial = 50 * time.Millisecond // requests mostly wait for less
	o.Cycle = &probe.Cycle{Probe: o, Trial: trial, Budget: at.Budget}
	at.Sampling.Take(resumed, o.note)
	var err error
	o.timer, err = timing(at.Sampling.Source, t)
	return o, err
}

// add adds a function of the Lua module to a target.
func add(w *worker.Worker, t *target, name string, how given, phase int) error {
	place, err := w.PlaceOf(w.Object, name)
	if err != nil {
		return err
	}
	at, err := probe.CheapAtEntry(name, place.Code)
	if err != nil {
		return err
	}
	t.file = place.File
	t.functions = append(t.functions, function{offset: place.Offset + at, given: how, phase: phase})
	return nil
}

// Close does nothing: the sampler has the programs.
func (o *observer) Close() {}

// Spent is what the probe has cost the worker until now.
func (o *observer) Spent() (cost, last time.Duration, err error) {
	c, err := o.Cost()
	const each = 2 // traps of a resume
	return time.Duration(c.traps)*o.each()/each + c.looks, 0, err
}

// each is what the probe costs a resume.
func (o *observer) each() time.Duration { return probe.InPrograms(o.Each()) }

// note takes up a resume that took long.
func (o *observer) note(m *probe.Snapshot) {
	r, err := runOf(m)
	if err != nil {
		return // the kernel writes whole ones
	}
	w := o.at.Worker
	memory := m.Over(w.Process)
	long := Long{
		PID: w.PID, Phase: ngxlua.PhaseNamed(r.Phase), URI: sample.RequestAt(w, m, r.Request).URI, Start: r.Start, Whole: r.Whole, Own: r.Own,
		NoCPU: r.NoCPU, GoesOn: r.Flags&begins == 0, Pauses: r.Flags&pauses != 0,
	}
	vm := w.VM.At(memory)
	if f, err := vm.Function(r.Code, r.At); r.Code != 0 && err == nil {
		long.From = w.Named(f).Where()
	}
	if frames, err := vm.Suspended(m.Coroutine); m.Coroutine != 0 && err == nil && len(frames) > 0 {
		var waits []profile.Frame
		for _, f := range frames {
			waits = append(waits, w.Named(f))
		}
		long.Waits, long.In = sample.Asker(waits).Where(), sample.Called(waits)
	}
	long.sampled(o.at.Sampling.Samples())
	o.lock.Lock()
	defer o.lock.Unlock()
	o.long = append(o.long, long)
}

// mostLong is how many of the longest resumes are kept.
const mostLong = 10

// Result is what was timed since it was last asked for.
func (o *observer) Result() (evidence.Result, error) {
	duty, ran := o.Duty()
	now := Result{Duty: duty, Each: o.each(), Unseen: o.unseen}
	var err error
	now.Phases, err = o.timer.Read()
	for _, p := range now.Phases {
		now.Count += p.Own.Count
	}
	cost, failed := o.Cost()
	now.Lost = int(cost.lost)
	out := now.since(o.before)
	o.before = now
	out.Workers = []Worker{{PID: o.at.PID, Probed: out.Probed, Phases: out.Phases}}
	o.lock.Lock()
	out.Longest, o.long = o.long, nil
	o.lock.Unlock()
	slices.SortFunc(out.Longest, longer)
	out.Longest = out.Longest[:min(mostLong, len(out.Longest))]
	if o.at.Ended() {
		return &out, nil // what came until then stands
	}
	return &out, errors.Join(ran, err, failed)
}

// sampled adds what samples found that fell into the resume.
func (l *Long) sampled(all []sample.Sample) {
	lines := map[string]int{}
	for _, s := range slices.Backward(all) { // it has just ended
		if s.Time < l.Start {
			break
		} else if s.Time >= l.Start+l.Whole || s.Thread {
			continue
		}
		l.Samples++
		line := sample.Asker(s.Stack).Where()
		if lines[line]++; line != "" && lines[line] > lines[l.Ran] {
			l.Ran = line
		}
	}
}
