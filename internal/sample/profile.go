package sample

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/profile"
)

// Modes: which samples a profile is about.
const (
	OnCPU  = "on-cpu"  // the worker computed, or wanted to
	OffCPU = "off-cpu" // it slept although Lua was on its stack: the event loop stood still
	Wall   = "wall"    // all samples; without those that wait for events, where the kernel reported sleeps
	Stalls = "stalls"  // those inside turns of the event loop that took long
)

// Only leaves the samples of a mode.
func (l Series) Only(which string) Series {
	if which == Stalls {
		l.Samples = nil
		for _, s := range l.Stalls {
			l.Samples = append(l.Samples, s.Samples...)
		}
		return l
	}
	l.Samples = slices.DeleteFunc(slices.Clone(l.Samples), func(s Sample) bool {
		switch which {
		case OnCPU:
			return s.Asleep || s.Halted
		case OffCPU:
			return !s.Asleep || !s.Lua && s.Sleep == nil
		}
		return false
	})
	return l
}

// Profile is the samples of a mode as a profile, and they themselves.
func (l Series) Profile(which string, unit profile.Unit) (*profile.Profile, Series) {
	chosen := l.Only(which)
	p := &profile.Profile{Head: profile.Head{
		Unit: unit, Mode: which, Start: l.Start, Duration: l.Elapsed, Period: l.Period(),
		Taken: len(l.Samples) + l.Failed, Samples: len(chosen.Samples), Failed: l.Failed, Lost: l.Lost, Elapsed: l.Elapsed, Used: l.Used, Paused: l.Paused,
	}, Evidence: evidence.Set{}}
	p.Cut, p.LeftOut = l.Cut()
	heap := map[string]uint64{} // of each VM, last
	for _, s := range chosen.Samples {
		if s.Partial != nil {
			p.Partial++
		}
		heap[s.Machine] = s.InUse
	}
	for _, bytes := range heap {
		p.Heap += bytes
	}
	chosen.AddTo(p)
	p.Merge()
	return p, chosen
}

// A group is samples that a profile counts together.
type group struct {
	stack             *profile.Frame // its first one: equal stacks share their memory
	state, uri, cause string
	lock, phase       string
	queued            bool // woken, without a processor
}

// A counted is a group, by the slices of a profile's time.
type counted struct {
	group
	frames  []profile.Frame
	slices  []int64
	objects float64
}

// AddTo adds the samples to a profile, with the request, the state of Lua, the phase and the
// plugin or module as labels.
// They are in the order of their time, of one worker after the other. A profile of time has a sample's
// share of the time, or how long it slept.
func (l Series) AddTo(p *profile.Profile) {
	known := map[group]*counted{}
	var order []*counted // in which they were first seen
	for i, s := range l.Samples {
		l.count(s, p.Unit, func(g group, n int64) {
			if n == 0 {
				return
			}
			c := known[g]
			if c == nil {
				c = &counted{group: g, frames: s.Stack, slices: make([]int64, profile.Slices)}
				known[g], order = c, append(order, c)
			}
			c.slices[i*profile.Slices/len(l.Samples)] += n
			c.objects += s.Objects
		})
	}
	for _, c := range order {
		c.addTo(p)
	}
	if p.Mode == Wall && p.Unit == profile.Time {
		l.addQueued(p)
	}
}

// count adds what a sample counts of the unit.
func (l Series) count(s Sample, unit profile.Unit, add func(group, int64)) {
	g := group{uri: s.Request.URI, lock: s.Lock, phase: s.Phase}
	if len(s.Stack) > 0 {
		g.stack = &s.Stack[0]
	}
	if s.Lua {
		g.state = s.State.String()
	}
	switch {
	case s.Bytes > 0:
		add(g, int64(math.Round(s.Bytes)))
	case unit != profile.Time:
		add(g, 1)
	case s.Sleep == nil:
		add(g, l.Every.Nanoseconds())
	default:
		g.cause = s.Sleep.cause()
		add(g, s.Sleep.For.Nanoseconds())
		g.queued = true
		add(g, s.Sleep.Queued.Nanoseconds())
	}
}

func (c *counted) addTo(p *profile.Profile) {
	frames := outermostFirst(c.frames)
	if c.queued {
		frames = append(frames, queued)
	}
	labels := map[string]string{}
	for key, value := range map[string]string{
		"state": c.state, "uri": c.uri, "phase": c.phase, "module": profile.Module(frames), "cause": c.cause, "lock": c.lock,
	} {
		if value != "" {
			labels[key] = strings.ToValidUTF8(value, "\uFFFD") // a URI holds any bytes
		}
	}
	p.AddSliced(frames, labels, c.slices)
	p.Stacks[len(p.Stacks)-1].Objects = int64(math.Round(c.objects))
}

// outermostFirst is a stack as profiles have it.
func outermostFirst(stack []profile.Frame) []profile.Frame {
	frames := slices.Clone(stack)
	slices.Reverse(frames)
	return frames
}

// Module is the plugin or the module of Lua that a stack belongs to, see profile.Module.
func Module(stack []profile.Frame) string { return profile.Module(outermostFirst(stack)) }

// addQueued adds the time in which workers would have run and others did, as far as no sleep came before it.
func (l Series) addQueued(p *profile.Profile) {
	left := l.Rest.Queued
	for _, s := range l.Samples {
		if s.Sleep != nil {
			left -= s.Sleep.Queued
		}
	}
	if left > 0 {
		p.Add([]profile.Frame{queued}, nil, left.Nanoseconds())
	}
}

// queued stands for time in which a worker would have run, and others did.
var queued = profile.Frame{Function: "(waiting for a processor)", Kind: profile.Kernel}

// cause is what it slept for, and in which system call: "a program (wait4)".
func (s *Sleep) cause() string { return string(s.Cause) + " (" + s.Call + ")" }

// Period is the mean time between two samples, of the worker's CPU time where that is what counts.
func (l Series) Period() time.Duration {
	if l.Every > 0 {
		return l.Every
	}
	return l.Elapsed / time.Duration(max(1, len(l.Samples)+l.Failed))
}
