package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/worker"
)

// A Compiler is why Lua was interpreted, and what became of traces. Shares are parts of all samples of a processor's
// time, those outside of Lua included.
type Compiler struct {
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
	Function  string     `json:"function"`
	File      string     `json:"file,omitempty"`
	Line      int        `json:"line,omitempty"`
	Loop      bool       `json:"loop,omitempty"`
	Share     float64    `json:"share"`
	Cause     luajit.Why `json:"cause"`
	Reason    string     `json:"reason,omitempty"` // LuaJIT's, of the last abort
	Obstacles []Obstacle `json:"obstacles,omitempty"`
	Branch    int        `json:"branch_line,omitempty"` // where a branch that was given up begins
	Call      *Call      `json:"call,omitempty"`        // where the trace ends
	Full      bool       `json:"max_side_traces,omitempty"`
	Remedy    string     `json:"remedy,omitempty"`
	Lines     []Share    `json:"lines"` // that were interpreted, the innermost ones
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

// Compiled tells why Lua was interpreted while the workers computed; nil where no sample says anything about that.
func Compiled(l worker.Looks) *Compiler {
	of := l
	of.Samples = slices.DeleteFunc(slices.Clone(l.Samples), func(s worker.Sample) bool {
		return s.Asleep || s.Halted || s.Sleep != nil || s.Allocation != nil
	})
	if len(withLua(of.Samples)) == 0 || l.Compilation == nil {
		return nil
	}
	all := of.Total(of.Samples)
	state := func(states ...luajit.State) float64 {
		return of.Total(slices.DeleteFunc(withLua(of.Samples), func(s worker.Sample) bool { return !slices.Contains(states, s.State) })) / max(1, all)
	}
	known := l.Compilation
	c := &Compiler{
		Interpreted: state(luajit.Interpreted), Leaving: state(luajit.TraceExit), Compiling: state(luajit.Record, luajit.Optimize, luajit.Assemble),
		Roots: roots(of, all), Exits: exits(of, all), Ends: ends(known.Ends),
		Traces: known.Traces, MaxTraces: known.Limits.Traces, Area: known.Area, MaxArea: known.Limits.Code, Flushes: known.Flushes,
	}
	c.Causes = causes(c.Roots)
	return c
}

// roots groups what was interpreted by what a trace would have begun with, of all workers together.
func roots(l worker.Looks, all float64) []Root {
	index := map[string]int{}
	list := []Root{}
	var samples [][]worker.Sample
	for _, s := range l.Samples {
		if s.Uncompiled == nil {
			continue
		}
		r := rootOf(*s.Uncompiled)
		key := fmt.Sprintf("%+v %+v", r, s.Uncompiled.End)
		i, ok := index[key]
		if !ok {
			i = len(list)
			if s.Uncompiled.Uncompiled.End != nil {
				call := callOf(s.Uncompiled.End)
				r.Call = &call
			}
			index[key], list, samples = i, append(list, r), append(samples, nil)
		}
		samples[i] = append(samples[i], s)
	}
	for i := range list {
		list[i].Share = l.Total(samples[i]) / max(1, all)
		list[i].Lines = shares(l, samples[i], all, func(s worker.Sample) string { return worker.InnermostLua(s.Stack).Where() })
	}
	slices.SortStableFunc(list, func(a, b Root) int { return cmp.Compare(b.Share, a.Share) })
	return list
}

func rootOf(u worker.Uncompiled) Root {
	r := Root{
		Function: u.Root.Function, File: u.Root.File, Line: cmp.Or(u.Root.Line, u.Root.FirstLine), Loop: u.Loop,
		Cause: u.Why, Reason: u.Reason, Branch: u.Branch, Full: u.Full, Remedy: remedy(*u.Uncompiled),
	}
	for _, o := range u.Obstacles {
		r.Obstacles = append(r.Obstacles, Obstacle(o))
	}
	return r
}

// Name is the root as function@file.lua:line; "" where it is not known.
func (r Root) Name() string {
	return worker.Frame{Function: r.Function, File: r.File, Line: r.Line}.Where()
}

func causes(roots []Root) []Cause {
	list := []Cause{}
	for _, r := range roots {
		i := slices.IndexFunc(list, func(c Cause) bool { return c.Cause == r.Cause && c.Reason == r.Reason })
		if i < 0 {
			i = len(list)
			list = append(list, Cause{Cause: r.Cause, Reason: r.Reason})
		}
		list[i].Share += r.Share
	}
	slices.SortStableFunc(list, func(a, b Cause) int { return cmp.Compare(b.Share, a.Share) })
	return list
}

func exits(l worker.Looks, all float64) []Exit {
	index := map[worker.Exit]int{}
	list := []Exit{}
	for _, s := range l.Samples {
		if s.Exit == nil {
			continue
		}
		i, ok := index[*s.Exit]
		if !ok {
			i = len(list)
			index[*s.Exit] = i
			list = append(list, Exit{Trace: s.Exit.Trace, Number: s.Exit.Number, Begins: s.Exit.Root.Where(), Loop: s.Exit.Loop, To: s.Exit.To.Where()})
		}
		list[i].Share += l.Weight(s) / max(1, all)
	}
	slices.SortStableFunc(list, func(a, b Exit) int { return cmp.Compare(b.Share, a.Share) })
	return list
}

func ends(known map[worker.End]int) []End {
	list := []End{}
	for e, n := range known {
		list = append(list, End{callOf(e), e.GoesOn, n})
	}
	slices.SortFunc(list, func(a, b End) int {
		return cmp.Or(cmp.Compare(b.Traces, a.Traces), strings.Compare(a.Line, b.Line), strings.Compare(a.Function, b.Function))
	})
	return list
}

func callOf(e worker.End) Call { return Call{Function: e.Called.Function, Line: e.At.Where()} }
