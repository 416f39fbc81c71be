package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
)

// A resumeProbe times the runs of Lua in one worker.
type resumeProbe struct {
	*Worker
	*probe.RunProbe
	cycle  *probe.Cycle
	times  Resumes
	ended  chan struct{}
	unseen []string
}

// runThread runs a coroutine, until it yields or ends, for most phases; which one, it reads of the request.
const runThread = "ngx_http_lua_run_thread"

// callers are the functions that call Lua in other phases, by the phase: each of those in a list is called for some of the
// runs. Where they begin the module has loaded the code already, or finds it in its cache.
var callers = []struct {
	phase     string
	given     probe.Given
	functions []string
}{
	{"set", probe.GivenChunk, []string{"ngx_http_lua_set_by_chunk"}},
	{"header_filter", probe.GivenChunk, []string{"ngx_http_lua_header_filter_by_chunk"}},
	{"body_filter", probe.GivenChunk, []string{"ngx_http_lua_body_filter_by_chunk"}},
	{"log", probe.GivenHandler, []string{"ngx_http_lua_log_handler_inline", "ngx_http_lua_log_handler_file"}},
	{"balancer", probe.GivenHandler, []string{"ngx_http_lua_balancer_handler_inline", "ngx_http_lua_balancer_handler_file"}},
	{"ssl_sess_store", probe.GivenHandler, []string{"ngx_http_lua_ssl_sess_store_handler_inline", "ngx_http_lua_ssl_sess_store_handler_file"}},
	{"exit_worker", probe.GivenHandler, []string{"ngx_http_lua_exit_worker_by_inline", "ngx_http_lua_exit_worker_by_file"}},
}

// probeResumes prepares to time the worker's runs of Lua, at a cost of at most a share of one processor (0.01: 1 %). Its
// error may be probe.ErrDear.
func (w *Worker) probeResumes(source *probe.Source, budget float64) (*resumeProbe, error) {
	fail := func(err error) (*resumeProbe, error) { return nil, fmt.Errorf("--resumes: %w", err) }
	if w.module == nil {
		return fail(errors.New("its Lua serves no HTTP requests; streams are not timed"))
	}
	t := probe.RunTarget{PID: w.PID, PhaseSize: w.luaCtx.phaseBytes}
	if err := w.addRuns(&t, runThread, probe.GivenThread, 0); err != nil {
		return fail(err)
	}
	var unseen []string
	for _, c := range callers {
		for _, f := range c.functions {
			if err := w.addRuns(&t, f, c.given, slices.Index(luaDirectives[:], c.phase)); err != nil {
				unseen = append(unseen, c.phase)
				break
			}
		}
	}
	p := &resumeProbe{Worker: w, unseen: unseen}
	const trial = 50 * time.Millisecond // requests mostly wait for less
	p.cycle = &probe.Cycle{Probe: p, Trial: trial, Budget: budget}
	var err error
	p.RunProbe, err = source.Runs(t)
	return p, err
}

// addRuns adds a function of the Lua module to a target.
func (w *Worker) addRuns(t *probe.RunTarget, name string, given probe.Given, phase int) error {
	_, address, err := w.module.Code(name)
	if err != nil {
		return err
	}
	place, err := w.Place(address)
	if err != nil {
		return err
	}
	at, err := probe.CheapAtEntry(name, place.Code)
	if err != nil {
		return err
	}
	t.Program = place.File
	t.Functions = append(t.Functions, probe.RunFunction{Offset: place.Offset + at, Given: given, Phase: phase})
	return nil
}

// begin has the probe time runs until ctx ends; where it fails, stop is called.
func (p *resumeProbe) begin(ctx context.Context, stop func()) {
	if p == nil {
		return
	}
	p.ended = make(chan struct{})
	go func() {
		defer close(p.ended)
		if p.cycle.Run(ctx) != nil { // Duty has the error
			stop()
		}
	}()
}

// end waits until the probe is detached, after the end of begin's ctx.
func (p *resumeProbe) end() {
	if p != nil {
		<-p.ended
	}
}

// Spent is what the probe has cost the worker until now.
func (p *resumeProbe) Spent() (cost, last time.Duration, err error) {
	c, err := p.Cost()
	const each = 2 // traps of a run
	return time.Duration(c.Traps)*p.each()/each + c.Looks, 0, err
}

// each is what the probe costs a run.
func (p *resumeProbe) each() time.Duration { return time.Duration(dearer * float64(p.Each())) }

// note takes up a run that took long.
func (p *resumeProbe) note(m *probe.Moment) {
	r := m.Run
	memory := m.Over(p.Process)
	long := LongResume{PID: p.PID, Phase: phaseNamed(r.Phase), Start: r.Start, Whole: r.Whole, Own: r.Own, Queued: r.Queued, GoesOn: !r.Begins, Pauses: r.Pauses}
	if request, ok := p.Request(memory, r.Request); ok {
		if long.Request = request; !m.Copied(r.Request + p.request.uri) {
			long.Request = Request{Address: r.Request, Unread: true}
		}
	}
	vm := p.VM.At(memory)
	if f, err := vm.Function(r.Code, r.At); r.Code != 0 && err == nil {
		named := p.luaFrame(f)
		long.From = &named
	}
	if frames, err := vm.Suspended(r.Coroutine); r.Coroutine != 0 && err == nil {
		for _, f := range frames {
			long.Waits = append(long.Waits, p.luaFrame(f))
		}
	}
	p.times.Long = append(p.times.Long, long)
}

// mostLong is how many of the longest runs are kept.
const mostLong = 10

// sum puts what was timed into the looks.
func (p *resumeProbe) sum(l *Looks) error {
	t := &p.times
	t.PID, t.Each, t.Unseen = p.PID, p.each(), p.unseen
	duty, ran := p.cycle.Duty()
	t.Duty = duty
	all, err := p.Read()
	for _, r := range all {
		t.Phases = append(t.Phases, PhaseResumes{phaseNamed(r.Phase), r})
		t.Runs += r.Own.Count
	}
	slices.SortFunc(t.Phases, func(a, b PhaseResumes) int { return cmp.Compare(b.Own.Total, a.Own.Total) })
	cost, failed := p.Cost()
	t.Lost = int(cost.Lost)
	slices.SortFunc(t.Long, func(a, b LongResume) int { return cmp.Compare(b.Own-b.Queued, a.Own-a.Queued) })
	t.Long = t.Long[:min(mostLong, len(t.Long))]
	for i := range t.Long {
		for _, s := range l.Samples {
			if s.Time >= t.Long[i].Start && s.Time < t.Long[i].Start+t.Long[i].Whole && !s.Thread {
				t.Long[i].Samples = append(t.Long[i].Samples, s)
			}
		}
	}
	l.Resumes = []Resumes{*t}
	if stat, gone := p.Stat(); gone != nil || stat.Ended() {
		return nil // what came until then stands
	}
	return errors.Join(ran, err, failed)
}

// phaseNamed is the name of a phase by its bit; "" where it is not known.
func phaseNamed(context uint32) string {
	if i := bits.TrailingZeros32(context); context == 1<<i && i < len(luaDirectives) {
		return luaDirectives[i]
	}
	return ""
}
