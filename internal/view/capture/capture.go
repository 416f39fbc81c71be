package capture

import (
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/shares"
	"github.com/moonlap/moonlap/internal/evidence/sleeps"
	"github.com/moonlap/moonlap/internal/evidence/turns"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

// Name is that of a Capture as evidence.
const Name = "event"

func init() { evidence.Register(Name, func() evidence.Result { return &Capture{} }) }

// A Capture is an event and the seconds around it.
type Capture struct {
	PID       int       `json:"pid"`
	At        time.Time `json:"at"` // when it was noticed
	Condition string    `json:"condition"`
	What      string    `json:"text"`              // happened
	Line      string    `json:"line,omitempty"`    // of Lua, that took most of it
	Request   string    `json:"request,omitempty"` // that did
	Advice    string    `json:"advice,omitempty"`

	BeforeNS int64 `json:"before_ns"` // that is kept of the time before the event
	LengthNS int64 `json:"length_ns"` // of the event
	AfterNS  int64 `json:"after_ns"`
	Open     bool  `json:"open"` // it had not ended

	Stall         *turns.Stall      `json:"turn,omitempty"`   // what became of a turn
	Around        *Around           `json:"around,omitempty"` // what became of the time, where it is not known as exactly
	Lines         []Change          `json:"lines"`            // of Lua, those that took most of the event first
	Requests      []evidence.Share  `json:"requests"`         // likewise
	Blocks        []sleeps.Block    `json:"blocks"`           // sleeps in the event
	InFlight      []ngxlua.InFlight `json:"in_flight"`        // requests when it was noticed, the oldest first
	Heap          []HeapReading     `json:"lua_heap"`         // over the time kept
	Also          []string          `json:"also"`             // other events meanwhile
	More          int               `json:"more,omitempty"`   // of these, not listed
	Missed        int               `json:"missed,omitempty"` // events since the capture before, in its pause
	Samples       int               `json:"samples"`          // in the event
	SamplesBefore int               `json:"samples_before"`
	Folder        string            `json:"folder"` // where it was written

	profile *profile.Profile
}

// Around is what became of the worker's time between two readings, before an event and after it; the rest it waited for events.
type Around struct {
	NS         int64 `json:"ns"`
	ComputedNS int64 `json:"computed_ns"`
	SleptNS    int64 `json:"slept_ns"`
	QueuedNS   int64 `json:"queued_ns"` // it had no processor
}

// around finds the readings next to an event; nil: there are none on both sides.
func around(e event, all []Reading) *Around {
	if len(all) < 2 {
		return nil
	}
	from, to := all[0], all[len(all)-1]
	for _, r := range all {
		if r.At <= e.From {
			from = r
		}
		if r.At >= e.To {
			to = r
			break
		}
	}
	if to.At <= from.At { // the event is before all readings, or after them
		return nil
	}
	return &Around{
		(to.At - from.At).Nanoseconds(), (to.Computed - from.Computed).Nanoseconds(),
		(to.Slept - from.Slept).Nanoseconds(), (to.Queued - from.Queued).Nanoseconds(),
	}
}

// A Change is what part of the time a line took, computing or blocked, in the event and before it.
type Change struct {
	Name   string  `json:"name"`
	In     float64 `json:"share"`
	Before float64 `json:"share_before"`
}

// A HeapReading is the size of Lua's heap at a moment.
type HeapReading struct {
	At    int64  `json:"at_ns"` // since the event began; before it, below 0
	Bytes uint64 `json:"bytes"`
}

// mostInFlight bounds the requests that are listed.
const mostInFlight = 20

// newCapture makes a capture of what is due, with so much of the time before it.
func newCapture(pid int, keep time.Duration, p pending, t *sample.Tail) *Capture {
	c := &Capture{
		PID: pid, At: p.At.UTC(), Condition: p.Condition.String(), What: p.Text(),
		Open: p.Open, More: p.More, Also: []string{}, Lines: []Change{}, Heap: []HeapReading{},
		InFlight: slices.Clone(p.InFlight[:min(mostInFlight, len(p.InFlight))]),
	}
	for _, e := range p.Also {
		c.Also = append(c.Also, e.Text())
	}
	for _, r := range p.Readings {
		c.Heap = append(c.Heap, HeapReading{(r.At - p.From).Nanoseconds(), r.Heap})
	}
	since := max(t.Since, p.From-keep)
	c.BeforeNS, c.LengthNS, c.AfterNS = max(0, p.From-since).Nanoseconds(), (p.To - p.From).Nanoseconds(), max(0, t.Now-p.To).Nanoseconds()
	before, in, after := split(p.event, t.Samples, since)
	c.profile = drawn(t, t.Now-since, [3][]sample.Sample{before, in, after})
	c.Around = around(p.event, p.Readings)
	c.compare(p.event, t, before, of(p.event, in))
	return c
}

// split cuts samples into those that ended before an event, and not before since, those that fell into it, and those
// that began after it.
func split(e event, samples []sample.Sample, since time.Duration) (before, in, after []sample.Sample) {
	for _, s := range samples {
		switch {
		case s.Until() < since:
		case e.Turn != 0 && s.Turn == e.Turn && s.Lua && !s.Thread: // in the same turn of the event loop
			in = append(in, s)
		case s.Until() < e.From:
			before = append(before, s)
		case s.Time > e.To:
			after = append(after, s)
		default:
			in = append(in, s)
		}
	}
	return before, in, after
}

// of leaves those of the samples that an event is about.
func of(e event, in []sample.Sample) []sample.Sample {
	return slices.DeleteFunc(slices.Clone(in), func(s sample.Sample) bool {
		switch e.Condition.What {
		case Turn, Held, Sleep, CPU:
			return s.Thread
		case GC:
			return !collects(s)
		case Request:
			return s.Request.URI != e.Request.URI
		}
		return false
	})
}

// compare tells what the time of the event was spent with, and that before it.
func (c *Capture) compare(e event, t *sample.Tail, before, in []sample.Sample) {
	described := func(samples []sample.Sample) turns.Stall {
		l := t.Series
		l.Samples, l.Stalls = samples, []sample.Stall{{PID: c.PID, Start: e.From, Length: e.To - e.From, Samples: samples}}
		if s := e.Stall; s != nil {
			l.Stalls[0].Slept, l.Stalls[0].Queued, l.Stalls[0].Events = s.Slept, s.Queued, s.Events
		}
		return turns.Stalls(l)[0]
	}
	stall, old := described(in), described(before)
	usual := map[string]float64{}
	for _, s := range old.Lines {
		usual[s.Name] = s.Share * busy(t, before, c.BeforeNS)
	}
	for _, s := range stall.Lines {
		c.Lines = append(c.Lines, Change{s.Name, s.Share * busy(t, in, c.LengthNS), usual[s.Name]})
	}
	c.Samples, c.SamplesBefore = len(in), len(before)
	shown := t.Series
	shown.Samples = in
	c.Requests = shares.Of(shown).Requests
	c.Blocks = sleeps.Blocks(in)
	if e.Stall != nil {
		c.Stall, c.Around = &stall, nil
	}
	if len(c.Lines) > 0 {
		c.Line = c.Lines[0].Name
	}
	if len(c.Requests) > 0 {
		c.Request = c.Requests[0].Name
	}
	if len(c.Blocks) > 0 && (e.Condition.What == Sleep || e.Condition.What == Turn || e.Condition.What == Held) {
		c.Advice = c.Blocks[0].Advice
	}
	if r := e.Request; r != nil {
		c.Request = r.Method + " " + r.URI
		if r.Lua != nil {
			c.Line = r.Lua.Where()
			if r.Waits != "" {
				c.Line += " waits in " + r.Waits
			}
		}
	}
}

// busy is the part of a time that samples stand for.
func busy(t *sample.Tail, samples []sample.Sample, ns int64) float64 {
	sum := time.Duration(0)
	for _, s := range samples {
		if sum += t.Every; s.Sleep != nil {
			sum += s.Sleep.For + s.Sleep.Queued - t.Every
		}
	}
	return min(1, float64(sum)/float64(max(1, ns)))
}

// drawn is the profile of all the time that is kept. Its label "when" tells the three parts apart.
func drawn(t *sample.Tail, duration time.Duration, parts [3][]sample.Sample) *profile.Profile {
	p := &profile.Profile{Head: profile.Head{Unit: profile.Time, Mode: sample.Wall, By: "ebpf", Failed: t.Failed, Lost: t.Lost, Duration: duration}}
	for i, when := range []string{"before", "in it", "after"} {
		l := t.Series
		l.Samples, l.Rest.Queued = parts[i], 0
		known := len(p.Stacks)
		l.AddTo(p)
		for _, s := range p.Stacks[known:] {
			s.Labels["when"] = when
		}
	}
	p.Merge()
	return p
}
