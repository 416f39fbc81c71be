package explain

import (
	"cmp"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/worker"
)

// Found is what the kernel told of a worker's time.
type Found struct {
	Times  Times   `json:"times"`
	Loop   *Loop   `json:"event_loop,omitempty"` // where turns were looked at
	Blocks []Block `json:"blocks"`
	Stalls []Stall `json:"stalls"`
}

// Times are what became of the workers' time: of their main threads, which serve requests.
type Times struct {
	Began    int64 `json:"began_ns"` // CLOCK_MONOTONIC
	Elapsed  int64 `json:"elapsed_ns"`
	Computed int64 `json:"computed_ns"`
	Idle     int64 `json:"idle_ns"`   // waited for events
	Slept    int64 `json:"slept_ns"`  // was put to sleep by something else
	Queued   int64 `json:"queued_ns"` // waited for a processor
	Halted   int64 `json:"halted_ns,omitempty"`
	Unknown  int64 `json:"unknown_ns"` // the rest
	Sleeps   int   `json:"sleeps"`
	Unseen   int   `json:"sleeps_without_stack"` // begun before, or more in a second than are looked at
	UnseenNS int64 `json:"slept_without_stack_ns"`
}

// A Loop is how long the turns of the event loop took: from one wait for events to the next one.
type Loop struct {
	Turns   int   `json:"turns"`
	Median  int64 `json:"p50_ns"`
	P99     int64 `json:"p99_ns"`
	P999    int64 `json:"p999_ns"`
	Longest int64 `json:"longest_ns"`
	Long    int64 `json:"threshold_ns"` // turns from which on are stalls
}

// Find puts into words what the kernel told of the workers' time; long is from which length on turns of the event
// loop were wanted, 0: none.
func Find(l worker.Looks, long time.Duration) Found {
	r := l.Rest
	f := Found{Blocks: Blocks(l.Samples), Stalls: Stalls(l), Times: Times{
		Began: l.Began.Nanoseconds(), Elapsed: l.Elapsed.Nanoseconds(), Computed: r.Computed.Nanoseconds(), Idle: r.Idle.Nanoseconds(), Slept: r.Slept.Nanoseconds(),
		Queued: r.Queued.Nanoseconds(), Halted: r.Halted.Nanoseconds(), Sleeps: r.Sleeps, Unseen: r.Unseen, UnseenNS: r.UnseenFor.Nanoseconds(),
	}}
	f.Times.Unknown = max(0, (l.Elapsed - r.Computed - r.Idle - r.Slept - r.Queued - r.Halted).Nanoseconds())
	if long > 0 {
		at := func(p float64) int64 { return r.Turns.Percentile(p).Nanoseconds() }
		f.Loop = &Loop{r.Turns.Count, at(50), at(99), at(99.9), r.Turns.Longest.Nanoseconds(), long.Nanoseconds()}
	}
	return f
}

// A Block is a line of Lua that puts the worker to sleep in one way, for one URI: all such sleeps.
type Block struct {
	Line      string `json:"line"`                // function@file:line; "" where nginx itself does it
	Called    string `json:"called"`              // function that the line calls
	Call      string `json:"system_call"`         // that it slept in
	Cause     string `json:"cause"`               // what for: "a program", "the disk"
	URI       string `json:"uri,omitempty"`       // "" without a request: a timer, say
	Phase     string `json:"phase,omitempty"`     // "" where it is not known
	Count     int    `json:"count"`               // sleeps
	TotalNS   int64  `json:"total_ns"`            // until it was woken each time
	LongestNS int64  `json:"longest_ns"`          //
	QueuedNS  int64  `json:"queued_ns,omitempty"` // that it waited for a processor after that
	Advice    string `json:"advice"`
}

// Blocks are the sleeps among samples by what made the worker sleep, those that took longest in total first.
func Blocks(samples []worker.Sample) []Block {
	type key struct{ line, called, call, cause, uri, phase string }
	index := map[key]int{}
	all := []Block{}
	for _, s := range samples {
		if s.Sleep == nil {
			continue
		}
		k := key{"", worker.Called(s.Stack), s.Sleep.Call, string(s.Sleep.Cause), s.Request.URI, s.Phase}
		advice := ""
		if s.Lua {
			k.line = worker.Asker(s.Stack).Where()
			if advice = nonBlocking(k.called); s.Lock != "" {
				advice = locks.Advice
			}
		}
		i, ok := index[k]
		if !ok {
			i = len(all)
			index[k] = i
			all = append(all, Block{Line: k.line, Called: k.called, Call: k.call, Cause: k.cause, URI: k.uri, Phase: k.phase, Advice: advice})
		}
		b, slept := &all[i], s.Sleep.For.Nanoseconds()
		b.Count++
		b.TotalNS += slept
		b.LongestNS = max(b.LongestNS, slept)
		b.QueuedNS += s.Sleep.Queued.Nanoseconds()
	}
	slices.SortStableFunc(all, func(a, b Block) int { return cmp.Compare(b.TotalNS, a.TotalNS) })
	return all
}

// Held is a turn of the event loop that had taken so long when Lua was looked at in it.
type Held struct {
	NS   int64  `json:"ns"` // at least
	Line string `json:"line"`
}

// coarse is how old nginx's clock may be when a turn begins: it is the kernel's, which goes on with its ticks.
const coarse = 10 * time.Millisecond

// hold takes notice of a turn. nginx's clock stands still in it, and is that of the samples' time, in milliseconds. It
// is set at the beginning, before any Lua runs.
func (e *Explanation) hold(s worker.Sample) {
	held := s.Time - time.Duration(s.Turn)*time.Millisecond - coarse
	if s.Time == 0 || s.Turn == 0 || !s.Lua || held < coarse || held > time.Hour { // an old nginx's clock is that of the calendar
		return
	}
	if e.Held == nil || e.Held.NS < held.Nanoseconds() {
		e.Held = &Held{held.Nanoseconds(), worker.InnermostLua(s.Stack).Where()}
	}
}

// A Stall is a turn of the event loop that took long, in words.
type Stall struct {
	PID        int              `json:"pid"`
	StartNS    int64            `json:"start_ns"` // since the workers began to be looked at
	LengthNS   int64            `json:"length_ns"`
	ComputedNS int64            `json:"computed_ns"` // of that: it ran
	SleptNS    int64            `json:"slept_ns"`    // it was put to sleep
	QueuedNS   int64            `json:"queued_ns"`   // it had no processor
	Events     int              `json:"events"`      // that were served in that turn
	Looks      int              `json:"looks"`       // samples that fell into it
	URIs       []evidence.Share `json:"uris"`        // by the time of these samples
	Lines      []evidence.Share `json:"lines"`       // innermost lines of Lua, likewise
}

// Stalls describes long turns, the longest first.
func Stalls(l worker.Looks) []Stall {
	all := []Stall{}
	if len(l.Stalls) == 0 {
		return all
	}
	for _, s := range l.Stalls {
		weigh := func(name func(worker.Sample) string) []evidence.Share {
			return observe.Shares(l, s.Samples, l.Total(s.Samples), name)
		}
		all = append(all, Stall{
			PID: s.PID, StartNS: (s.Start - l.Began).Nanoseconds(), LengthNS: s.Length.Nanoseconds(), ComputedNS: s.Computed().Nanoseconds(),
			SleptNS: s.Slept.Nanoseconds(), QueuedNS: s.Queued.Nanoseconds(), Events: s.Events, Looks: len(s.Samples),
			URIs: weigh(func(s worker.Sample) string { return s.Request.URI }),
			Lines: weigh(func(s worker.Sample) string {
				line := worker.InnermostLua(s.Stack).Where()
				if line != "" && s.Sleep != nil {
					line += " " + worker.Called(s.Stack)
				}
				return line
			}),
		})
	}
	slices.SortStableFunc(all, func(a, b Stall) int { return cmp.Compare(b.LengthNS, a.LengthNS) })
	return all
}
