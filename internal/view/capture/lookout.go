package capture

import (
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/sample"
)

// A lookout waits for conditions at one worker.
type lookout struct {
	PID   int
	Keep  time.Duration // before an event
	After time.Duration // it
	Gate  *gate         // of all workers

	// What is asked of the worker.
	Heap     func() (uint64, error)            // bytes of Lua's heap
	InFlight func() ([]ngxlua.InFlight, error) // requests, the oldest first
	Noticed  func(event)                       // is called with an event that will be captured
	Captured func(pending, *sample.Tail)       // takes what is due, and may keep it

	waits    []*wait
	readings []Reading
	requests []ngxlua.InFlight // that were in flight when they were read the last time, where conditions ask
	pending  *pending
	longest  longest
}

// Longest is what came nearest to a condition so far.
func (o *lookout) Longest() longest { return o.longest }

// A pending is an event whose capture is not due yet.
type pending struct {
	event
	At       time.Time         // when it was noticed
	Also     []event           // that came meanwhile, the first ones
	More     int               // of these, without the first ones
	InFlight []ngxlua.InFlight // when it was noticed, the oldest first
	Readings []Reading         // over the time kept

	due time.Duration
}

// A Reading is what was read of the worker at a moment.
type Reading struct {
	At        time.Duration
	Computed  time.Duration // CPU time since the worker is followed
	Collected time.Duration // of that: by Lua's collector
	Slept     time.Duration // it was put to sleep
	Queued    time.Duration // it had no processor
	Heap      uint64        // bytes of Lua's heap
}

// mostAlso bounds the events that are listed with another one.
const mostAlso = 8

// newLookout waits for any of the conditions.
func newLookout(conditions []Condition) *lookout {
	o := &lookout{}
	for _, c := range conditions {
		o.waits = append(o.waits, &wait{Condition: c})
	}
	return o
}

// Wants is what has to be reported of the worker for the conditions, with that many samples a second at least.
func (o *lookout) Wants(hz float64) sample.Wants {
	w := sample.Wants{Hz: hz}
	for _, c := range o.waits {
		if long := time.Duration(c.Above); c.What == Turn && (w.Turns == 0 || long < w.Turns) {
			w.Turns = long
		}
	}
	return w
}

// Span is for how long the worker's doings have to be kept: those before an event, in it, and after it.
func (o *lookout) Span() time.Duration { return 2*o.Keep + o.After + time.Second }

func (o *lookout) asks(what ...What) bool {
	return slices.ContainsFunc(o.waits, func(w *wait) bool { return slices.Contains(what, w.What) })
}

// Look takes in what is new of the worker; now is the time of day.
func (o *lookout) Look(t *sample.Tail, now time.Time) {
	o.read(t)
	o.longest.see(t)
	for _, w := range o.waits {
		e, ok := w.met(t, o)
		if !ok {
			continue
		}
		switch p := o.pending; {
		case p != nil && len(p.Also) < mostAlso:
			p.Also = append(p.Also, e)
		case p != nil:
			p.More++
		case o.Gate.Pass(t.Now):
			o.pending = &pending{event: e, At: now, InFlight: o.inFlight(), due: t.Now + o.After}
			o.Noticed(e)
		}
	}
	p := o.pending
	if p == nil {
		return
	}
	p.event = p.now(t)
	for i, e := range p.Also {
		p.Also[i] = e.now(t)
	}
	waits := p.Open && t.Now-p.From < o.Keep // its end is worth waiting for as long as its beginning is kept
	if waits {
		p.due = t.Now + o.After
	}
	if t.Last || !waits && t.Now >= p.due {
		p.Readings = slices.Clone(o.readings)
		o.pending = nil
		kept := *t
		kept.Samples, kept.Stalls = slices.Clone(t.Samples), slices.Clone(t.Stalls)
		o.Captured(*p, &kept)
	}
}

// inFlight are the requests in flight: now, or when the worker was still there.
func (o *lookout) inFlight() []ngxlua.InFlight {
	if all, err := o.InFlight(); err == nil {
		return all
	}
	return o.requests
}

// read reads what is not among what the kernel tells.
func (o *lookout) read(t *sample.Tail) {
	r := Reading{At: t.Now, Computed: t.Rest.Computed, Slept: t.Rest.Slept, Queued: t.Rest.Queued}
	if n := len(o.readings); n > 0 {
		r.Collected, r.Heap = o.readings[n-1].Collected, o.readings[n-1].Heap
	}
	for _, s := range t.Samples[len(t.Samples)-t.New:] {
		if collects(s) {
			r.Collected += t.Every
		}
	}
	if t.End == nil {
		if heap, err := o.Heap(); err == nil {
			r.Heap = heap
		}
		if o.asks(Request, Ended) {
			if all, err := o.InFlight(); err == nil {
				o.requests = all
			}
		}
	}
	o.readings = append(o.readings, r)
	span := o.Span()
	for _, w := range o.waits {
		span = max(span, w.For)
	}
	n := 0
	for n+1 < len(o.readings) && o.readings[n+1].At <= t.Now-span { // the last one before is needed
		n++
	}
	o.readings = slices.Delete(o.readings, 0, n)
}
