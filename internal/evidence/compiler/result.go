// Package compiler is evidence of LuaJIT's compiler: why Lua was interpreted, and what became of traces.
package compiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

// Name is that of the kind.
const Name = "compiler"

// A Result is why Lua was interpreted, and what became of traces. Shares are parts of all samples of a processor's
// time, those outside of Lua included.
type Result struct {
	Of          float64 `json:"of"` // samples, or ns that all of them mean
	Interpreted float64 `json:"interpreted"`
	Roots       []Root  `json:"roots"`  // of what was interpreted, that with the largest share first
	Causes      []Cause `json:"causes"` // the same, summed up
	Leaving     float64 `json:"leaving_traces"`
	Exits       []Exit  `json:"exits"` // of that, as far as it is known
	Compiling   float64 `json:"compiling"`
	Ends        []End   `json:"ends"`
	Traces      int     `json:"traces"`         // of one worker at once, the most that were seen
	MaxTraces   int     `json:"max_traces"`     // 0: not known
	Area        uint64  `json:"area_bytes"`     // of machine code, in the same way
	MaxArea     uint64  `json:"max_area_bytes"` // 0: not known
	Flushes     int     `json:"flushes"`        // that were seen: there may have been more
}

// A Root is a loop or function that a trace would have begun with, and why there is none, or it was not enough.
type Root struct {
	Function  string           `json:"function"`
	File      string           `json:"file,omitempty"`
	Line      int              `json:"line,omitempty"`
	Loop      bool             `json:"loop,omitempty"`
	Share     float64          `json:"share"`
	Cause     luajit.Why       `json:"cause"`
	Reason    string           `json:"reason,omitempty"` // LuaJIT's, of the last abort
	Obstacles []Obstacle       `json:"obstacles,omitempty"`
	Branch    int              `json:"branch_line,omitempty"` // where a branch that was given up begins
	Call      *Call            `json:"call,omitempty"`        // where the trace ends
	Full      bool             `json:"max_side_traces,omitempty"`
	Remedy    string           `json:"remedy,omitempty"`
	Lines     []evidence.Share `json:"lines"` // that were interpreted, the innermost ones
}

// An Obstacle is bytecode that is not compiled.
type Obstacle struct {
	Code string `json:"code"`
	Line int    `json:"line"`
}

// A Call is one of a function that is not compiled.
type Call struct {
	Function string `json:"function"`
	Line     string `json:"line"` // that calls it: function@file.lua:line
}

// A Cause is what keeps code from being compiled.
type Cause struct {
	Cause  luajit.Why `json:"cause"`
	Reason string     `json:"reason,omitempty"`
	Share  float64    `json:"share"`
}

// An Exit is where traces are left.
type Exit struct {
	Trace  int     `json:"trace"`
	Number int     `json:"exit"`
	Begins string  `json:"begins"` // the trace, or the one that it is a branch of
	Loop   bool    `json:"loop,omitempty"`
	To     string  `json:"goes_on_at,omitempty"` // in the interpreter; "": not known
	Share  float64 `json:"share"`
}

// An End is a call at which traces end.
type End struct {
	Call
	GoesOn bool `json:"goes_on"` // another trace does, behind the call (stitching)
	Traces int  `json:"traces"`
}

func init() {
	evidence.Register(Name, func() evidence.Result { return &Result{} })
	observe.FromSamples(Name, func(all, chosen sample.Series) *Result { return Of(chosen) })
}

// Of is that of samples; nil where none says anything about the compiler.
func Of(l sample.Series) *Result {
	l.Samples = slices.DeleteFunc(slices.Clone(l.Samples), func(s sample.Sample) bool {
		return s.Asleep || s.Halted || s.Sleep != nil || s.Bytes > 0
	})
	if len(observe.WithLua(l.Samples)) == 0 || l.Compilation == nil {
		return nil
	}
	known := l.Compilation
	r := &Result{
		Of: max(1, l.Total(l.Samples)), Traces: known.Traces, MaxTraces: known.Limits.Traces, Area: known.Area, MaxArea: known.Limits.Code,
		Flushes: known.Flushes,
	}
	for e, n := range known.Ends {
		r.Ends = append(r.Ends, End{callOf(e), e.GoesOn, n})
	}
	for _, s := range l.Samples {
		r.add(s, l.Weight(s)/r.Of)
	}
	return r.grouped()
}

// add counts a sample.
func (r *Result) add(s sample.Sample, share float64) {
	if s.Lua {
		switch s.State {
		case luajit.Interpreted:
			r.Interpreted += share
		case luajit.TraceExit:
			r.Leaving += share
		case luajit.Record, luajit.Optimize, luajit.Assemble:
			r.Compiling += share
		}
	}
	if u := s.Uncompiled; u != nil {
		r.Roots = append(r.Roots, rootOf(u, share, sample.InnermostLua(s.Stack).Where()))
	}
	if x := s.Exit; x != nil {
		r.Exits = append(r.Exits, Exit{x.Trace, x.Number, x.Root.Where(), x.Loop, x.To.Where(), share})
	}
}

func rootOf(u *sample.Uncompiled, share float64, line string) Root {
	r := Root{
		Function: u.Root.Function, File: u.Root.File, Line: cmp.Or(u.Root.Line, u.Root.FirstLine), Loop: u.Loop, Share: share,
		Cause: u.Why, Reason: u.Reason, Branch: u.Branch, Full: u.Full, Remedy: remedy(*u.Uncompiled), Lines: []evidence.Share{},
	}
	for _, o := range u.Obstacles {
		r.Obstacles = append(r.Obstacles, Obstacle(o))
	}
	if u.Uncompiled.End != nil {
		call := callOf(u.End)
		r.Call = &call
		if leaves[call.Function] || strings.HasPrefix(call.Function, "ngx_http_lua_") { // a cosocket's methods have no other name
			r.Remedy = usualEnd
		}
	}
	if line != "" {
		r.Lines = append(r.Lines, evidence.Share{Name: line, Share: share})
	}
	return r
}

// Name is the root as function@file.lua:line; "" where it is not known.
func (r Root) Name() string {
	return profile.Frame{Function: r.Function, File: r.File, Line: r.Line}.Where()
}

// key is all of it but its shares.
func (r Root) key() string {
	call := Call{}
	if r.Call != nil {
		call = *r.Call
	}
	r.Share, r.Lines, r.Call = 0, nil, nil
	return fmt.Sprintf("%+v %+v", r, call)
}

func callOf(e sample.End) Call { return Call{Function: e.Called.Function, Line: e.At.Where()} }

// grouped adds up what is the same, and sorts it.
func (r *Result) grouped() *Result {
	r.Roots = evidence.Group(r.Roots, Root.key, func(to *Root, one Root) {
		to.Share += one.Share
		to.Lines = evidence.MergeShares(to.Lines, one.Lines)
	})
	slices.SortStableFunc(r.Roots, func(a, b Root) int { return cmp.Compare(b.Share, a.Share) })
	r.Causes = []Cause{}
	for _, root := range r.Roots {
		r.Causes = append(r.Causes, Cause{root.Cause, root.Reason, root.Share})
	}
	r.Causes = evidence.Group(r.Causes, func(c Cause) Cause { c.Share = 0; return c }, func(to *Cause, one Cause) { to.Share += one.Share })
	slices.SortStableFunc(r.Causes, func(a, b Cause) int { return cmp.Compare(b.Share, a.Share) })
	r.Exits = evidence.Group(r.Exits, func(e Exit) Exit { e.Share = 0; return e }, func(to *Exit, one Exit) { to.Share += one.Share })
	slices.SortStableFunc(r.Exits, func(a, b Exit) int { return cmp.Compare(b.Share, a.Share) })
	r.Ends = evidence.Group(r.Ends, func(e End) End { e.Traces = 0; return e }, func(to *End, one End) { to.Traces += one.Traces })
	slices.SortFunc(r.Ends, func(a, b End) int {
		return cmp.Or(cmp.Compare(b.Traces, a.Traces), strings.Compare(a.Line, b.Line), strings.Compare(a.Function, b.Function))
	})
	return r
}

// Merge is both together.
func (r *Result) Merge(other evidence.Result) evidence.Result {
	o := other.(*Result)
	both := &Result{
		Of: r.Of + o.Of, Ends: slices.Concat(r.Ends, o.Ends), Traces: max(r.Traces, o.Traces), MaxTraces: max(r.MaxTraces, o.MaxTraces),
		Area: max(r.Area, o.Area), MaxArea: max(r.MaxArea, o.MaxArea), Flushes: r.Flushes + o.Flushes,
	}
	for _, one := range []*Result{r, o} {
		part := one.Of / max(1, both.Of)
		both.Interpreted += part * one.Interpreted
		both.Leaving += part * one.Leaving
		both.Compiling += part * one.Compiling
		for _, root := range one.Roots {
			root.Share, root.Lines = root.Share*part, evidence.Scaled(root.Lines, part)
			both.Roots = append(both.Roots, root)
		}
		for _, e := range one.Exits {
			e.Share *= part
			both.Exits = append(both.Exits, e)
		}
	}
	return both.grouped()
}
