package worker

import (
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/profile"
)

// Which moments a profile is about.
const (
	OnCPU  = "on-cpu"  // the worker computed, or wanted to
	OffCPU = "off-cpu" // it slept although Lua was on its stack: the event loop stood still
	Wall   = "wall"    // all moments
)

// Only leaves the samples of the moments.
func (l Looks) Only(which string) Looks {
	l.Samples = slices.DeleteFunc(slices.Clone(l.Samples), func(s Sample) bool {
		switch which {
		case OnCPU:
			return s.Asleep || s.Halted
		case OffCPU:
			return !s.Asleep || !s.Lua
		}
		return false
	})
	return l
}

// AddTo adds the samples to a profile, with the request, the state of Lua, the phase and the
// plugin or module as labels.
// They are in the order of their time, of one worker after the other.
func (l Looks) AddTo(p *profile.Profile) {
	type group struct {
		stack      *Frame // its first one: equal stacks share their memory
		state, uri string
	}
	counts := map[group][]int64{}
	var order []group // in which they were first seen
	stacks := map[*Frame][]Frame{}
	for i, s := range l.Samples {
		g := group{uri: s.Request.URI}
		if len(s.Stack) > 0 {
			g.stack = &s.Stack[0]
		}
		if s.Lua {
			g.state = s.State.String()
		}
		stacks[g.stack] = s.Stack
		if counts[g] == nil {
			counts[g] = make([]int64, profile.Slices)
			order = append(order, g)
		}
		counts[g][i*profile.Slices/len(l.Samples)]++
	}
	for _, g := range order {
		stack := stacks[g.stack]
		frames := make([]profile.Frame, len(stack))
		for i, f := range stack {
			frames[len(frames)-1-i] = profile.Frame{
				Function: f.Function, File: f.File, First: f.FirstLine, Line: f.Line,
				Kind: kinds[f.Kind], Compiled: f.Compiled,
			}
		}
		labels := map[string]string{}
		for key, value := range map[string]string{
			"state": g.state, "uri": g.uri, "phase": phaseOf(stack), "module": profile.Module(frames),
		} {
			if value != "" {
				labels[key] = strings.ToValidUTF8(value, "\uFFFD") // a URI holds any bytes
			}
		}
		p.AddSliced(frames, labels, counts[g])
	}
}

var kinds = map[luajit.Kind]profile.Kind{luajit.Lua: profile.Lua, luajit.Builtin: profile.Builtin, luajit.C: profile.C, Kernel: profile.Kernel}

// Period is the mean time between two looks, of the worker's CPU time where that is what counts.
func (l Looks) Period() time.Duration {
	if l.Every > 0 {
		return l.Every
	}
	return l.Elapsed / time.Duration(max(1, len(l.Samples)+l.Failed))
}
