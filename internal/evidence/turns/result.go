// Package turns is evidence of the event loop's turns: how long they took, and what those spent their time with that took long. A
// turn is from one wait for events to the next; no other request goes on meanwhile.
package turns

import (
	"cmp"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/sample"
)

// Name is that of the kind.
const Name = "turns"

// A Result is how long turns took.
type Result struct {
	Threshold time.Duration   `json:"threshold_ns"` // turns from which on are Stalls; 0: turns were not timed
	Lengths   probe.Durations `json:"lengths"`
	P999      time.Duration   `json:"p999_ns"`
	Stalls    []Stall         `json:"stalls"`         // the longest first
	Held      *Held           `json:"held,omitempty"` // the longest turn that a sample fell into, where turns were not timed
}

// Held is a turn that had taken so long when Lua was sampled in it.
type Held struct {
	For  time.Duration `json:"ns"` // at least
	Line string        `json:"line"`
}

// A Stall is a turn that took long, in words.
type Stall struct {
	PID      int              `json:"pid"`
	Start    time.Duration    `json:"start_ns"` // since the workers began to be sampled
	Length   time.Duration    `json:"length_ns"`
	Computed time.Duration    `json:"computed_ns"` // of that: it ran
	Slept    time.Duration    `json:"slept_ns"`    // it was put to sleep
	Queued   time.Duration    `json:"queued_ns"`   // it had no processor
	Events   int              `json:"events"`      // that were served in that turn
	Samples  int              `json:"samples"`     // that fell into it
	URIs     []evidence.Share `json:"uris"`        // by the time of these samples
	Lines    []evidence.Share `json:"lines"`       // innermost lines of Lua, likewise
}

func init() { evidence.Register(Name, func() evidence.Result { return &Result{} }) }

// Of is that of samples. long is from which length on turns were asked for; 0: they were not. It is nil where nothing is known.
func Of(l sample.Series, long time.Duration) *Result {
	if long > 0 {
		return &Result{Threshold: long, Lengths: l.Rest.Turns, P999: l.Rest.Turns.Percentile(99.9), Stalls: Stalls(l)}
	}
	if held := heldOf(l.Samples); held != nil {
		return &Result{Stalls: []Stall{}, Held: held}
	}
	return nil
}

// coarse is how old nginx's clock may be when a turn begins: it is the kernel's, which goes on with its ticks.
const coarse = 10 * time.Millisecond

// heldOf is the longest turn that samples fell into; nil: none is known to be long. nginx's clock stands still in a turn, and is
// that of the samples' time, in milliseconds. It is set at the beginning, before any Lua runs.
func heldOf(samples []sample.Sample) (longest *Held) {
	for _, s := range samples {
		held := s.Time - time.Duration(s.Turn)*time.Millisecond - coarse
		if s.Time == 0 || s.Turn == 0 || !s.Lua || held < coarse || held > time.Hour { // an old nginx's clock is that of the calendar
			continue
		}
		if longest == nil || longest.For < held {
			longest = &Held{held, sample.InnermostLua(s.Stack).Where()}
		}
	}
	return longest
}

// Stalls describes long turns, the longest first.
func Stalls(l sample.Series) []Stall {
	all := []Stall{}
	for _, s := range l.Stalls {
		weigh := func(name func(sample.Sample) string) []evidence.Share {
			return observe.Shares(l, s.Samples, l.Total(s.Samples), name)
		}
		all = append(all, Stall{
			PID: s.PID, Start: s.Start - l.Began, Length: s.Length, Computed: s.Computed(), Slept: s.Slept, Queued: s.Queued,
			Events: s.Events, Samples: len(s.Samples),
			URIs: weigh(func(s sample.Sample) string { return s.Request.URI }),
			Lines: weigh(func(s sample.Sample) string {
				line := sample.InnermostLua(s.Stack).Where()
				if line != "" && s.Sleep != nil {
					line += " " + sample.Called(s.Stack)
				}
				return line
			}),
		})
	}
	return sorted(all)
}

func sorted(all []Stall) []Stall {
	slices.SortStableFunc(all, func(a, b Stall) int { return cmp.Compare(b.Length, a.Length) })
	return all
}

// Merge is both together.
func (r *Result) Merge(other evidence.Result) evidence.Result {
	o := other.(*Result)
	both := &Result{
		Threshold: max(r.Threshold, o.Threshold), Lengths: r.Lengths.And(o.Lengths), Stalls: sorted(slices.Concat([]Stall{}, r.Stalls, o.Stalls)), Held: r.Held,
	}
	both.P999 = both.Lengths.Percentile(99.9)
	if o.Held != nil && (r.Held == nil || r.Held.For < o.Held.For) {
		both.Held = o.Held
	}
	return both
}
