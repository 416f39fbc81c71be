// Package shares is evidence of where Lua was in samples: lines, requests, phases, modules, by parts of them.
package shares

import (
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/ui"
)

// Name is that of the kind.
const Name = "shares"

// A Result is parts of samples, or of their time, from 0 to 1.
type Result struct {
	Of       float64          `json:"of"`           // samples, or ns that all of them mean
	Lua      float64          `json:"lua_share"`    // Lua was on the stack
	Asleep   float64          `json:"asleep_share"` // the worker waited, for events or something else
	States   []evidence.Share `json:"states"`       // of the samples with Lua
	Machines []evidence.Share `json:"machines"`     // http and stream, where both ran Lua, of the same
	Lines    []evidence.Share `json:"lines"`        // innermost Lua lines
	Requests []evidence.Share `json:"requests"`
	Phases   []evidence.Share `json:"phases"`  // whose Lua ran
	Plugins  []evidence.Share `json:"plugins"` // of Kong or APISIX that ran, else Lua modules
	Modules  []evidence.Share `json:"modules"` // what the innermost function belongs to
}

func init() {
	evidence.Register(Name, func() evidence.Result { return &Result{} })
	observe.FromSamples(Name, func(all, chosen sample.Series) *Result { return Of(chosen) })
}

// Of is that of samples.
func Of(l sample.Series) *Result {
	lua := observe.WithLua(l.Samples)
	all, ofLua := l.Total(l.Samples), l.Total(lua)
	r := &Result{Of: all, Lua: ofLua / max(1, all)}
	for _, s := range l.Samples {
		if s.Asleep {
			r.Asleep += l.Weight(s) / max(1, all)
		}
	}
	r.States = observe.Shares(l, lua, ofLua, func(s sample.Sample) string { return s.State.String() })
	if r.Machines = observe.Shares(l, lua, ofLua, func(s sample.Sample) string { return s.Machine }); len(r.Machines) < 2 {
		r.Machines = []evidence.Share{}
	}
	r.Requests = observe.Shares(l, lua, all, Request)
	r.Phases = observe.Shares(l, lua, all, func(s sample.Sample) string { return s.Phase })
	r.Plugins = observe.Shares(l, lua, all, func(s sample.Sample) string { return sample.Module(s.Stack) })
	if !slices.ContainsFunc(l.Samples, func(s sample.Sample) bool { return s.Bytes > 0 }) { // of allocations lines have bytes, and whose innermost function is always LuaJIT's
		r.Lines = observe.Shares(l, lua, all, func(s sample.Sample) string { return sample.InnermostLua(s.Stack).Where() })
		callers(l, lua, r.Lines)
		r.Modules = observe.Shares(l, l.Samples, all, moduleOf)
	}
	return r
}

// callers fills in where lines of libraries were called from: what a user can change is a line of their own.
func callers(l sample.Series, lua []sample.Sample, lines []evidence.Share) {
	sums := map[[2]string]float64{}
	most := map[string]float64{}
	from := map[string]string{}
	for _, s := range lua {
		own := sample.OwnLua(s.Stack)
		line := sample.InnermostLua(s.Stack).Where()
		if own.Kind != profile.Lua || own.Where() == line {
			continue
		}
		pair := [2]string{line, own.Where()}
		if sums[pair] += l.Weight(s); sums[pair] > most[line] {
			most[line], from[line] = sums[pair], own.Where()
		}
	}
	for i := range lines {
		lines[i].From = from[lines[i].Name]
	}
}

// OfStacks is the shares by a profile's stacks, where samples were kept without requests and phases.
func OfStacks(p *profile.Profile) *Result {
	return &Result{
		Of: float64(p.Total()), Lines: p.LuaLines(), States: p.ByLabel("state"), Requests: p.ByLabel("uri"), Phases: p.ByLabel("phase"),
		Plugins: p.ByLabel("module"),
	}
}

// moduleOf is what the innermost frame belongs to.
func moduleOf(s sample.Sample) string {
	if len(s.Stack) == 0 {
		return ""
	}
	switch f := s.Stack[0]; {
	case f.Kind == profile.Lua && f.Compiled:
		return "Lua, compiled"
	case f.Kind == profile.Lua:
		return "Lua, interpreted"
	case f.Kind == profile.Builtin:
		return "LuaJIT"
	default:
		return f.File
	}
}

// Request is what Lua ran for.
func Request(s sample.Sample) string {
	r := s.Request
	switch {
	case r.Unread:
		return "not known: samples before the first request was read"
	case s.Machine == "stream":
		return "a session of stream, or its timer"
	case r.URI == "" && s.Phase == "":
		return "no request: a timer, say"
	case r.URI == "" && ofNoClient(s.Phase):
		return "no request: " + s.Phase
	case r.URI == "":
		return "not known: its text could not be read"
	case r.Method == "":
		return r.URI
	}
	return r.Method + " " + r.URI
}

// ofNoClient reports whether Lua runs in the phase without a request, or before there is one.
func ofNoClient(phase string) bool {
	return phase == "timer" || strings.HasSuffix(phase, "_worker") || strings.HasPrefix(phase, "ssl_")
}

// Merge is both together.
func (r *Result) Merge(other evidence.Result) evidence.Result {
	o := other.(*Result)
	of, lua := r.Of+o.Of, max(1, r.Of*r.Lua+o.Of*o.Lua)
	part := func(one *Result) float64 { return one.Of / max(1, of) }
	all := func(list func(*Result) []evidence.Share) []evidence.Share {
		return evidence.MergeShares(evidence.Scaled(list(r), part(r)), evidence.Scaled(list(o), part(o)))
	}
	ofLua := func(list func(*Result) []evidence.Share) []evidence.Share {
		return evidence.MergeShares(evidence.Scaled(list(r), r.Of*r.Lua/lua), evidence.Scaled(list(o), o.Of*o.Lua/lua))
	}
	return &Result{
		Of: of, Lua: r.Lua*part(r) + o.Lua*part(o), Asleep: r.Asleep*part(r) + o.Asleep*part(o),
		States: ofLua(func(r *Result) []evidence.Share { return r.States }), Machines: ofLua(func(r *Result) []evidence.Share { return r.Machines }),
		Lines: all(func(r *Result) []evidence.Share { return r.Lines }), Requests: all(func(r *Result) []evidence.Share { return r.Requests }),
		Phases: all(func(r *Result) []evidence.Share { return r.Phases }), Plugins: all(func(r *Result) []evidence.Share { return r.Plugins }),
		Modules: all(func(r *Result) []evidence.Share { return r.Modules }),
	}
}

// Text lists the largest lines, and of everything else the largest parts in a line or two.
func (r *Result) Text(p *ui.Page, whose string) {
	evidence.ListShares(p, "Lua lines"+whose, r.Lines)
	if len(r.States)+len(r.Requests)+len(r.Phases)+len(r.Plugins)+len(r.Modules) == 0 {
		return
	}
	p.Section("parts" + whose)
	for _, list := range []struct {
		label  string
		shares []evidence.Share
	}{
		{"states", r.States}, {"blocks", r.Machines}, {"requests", r.Requests}, {"phases", r.Phases}, {"plugins", r.Plugins}, {"code", r.Modules},
	} {
		p.Fact(list.label, evidence.Parts(list.shares))
	}
}
