package capture

import (
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/sample"
)

// A wait is for one condition at one worker. Each event is reported once.
type wait struct {
	Condition
	reported time.Duration   // turns and sleeps that began later have not been reported; for states, when it held last
	turn     uint64          // the same of held loops
	old      map[string]bool // requests that have been
}

// met reports whether there is an event that has not been reported.
func (w *wait) met(t *sample.Tail, o *lookout) (event, bool) {
	long := time.Duration(w.Above)
	e := event{Condition: w.Condition, To: t.Now, From: t.Now}
	switch w.What {
	case Turn:
		return w.turned(e, t, long)
	case Held:
		return w.held(e, t, long)
	case Sleep:
		return w.slept(e, t, long)
	case Request:
		return w.requested(e, o.requests, long)
	case CPU:
		return w.lasting(e, o, w.share(&e, o, func(r Reading) time.Duration { return r.Computed }))
	case GC:
		return w.lasting(e, o, w.share(&e, o, func(r Reading) time.Duration { return r.Collected }))
	case Heap:
		e.Amount = float64(o.readings[len(o.readings)-1].Heap)
		e.From -= time.Second
		return w.lasting(e, o, e.Amount > w.Above)
	case Growth:
		return w.lasting(e, o, w.grown(&e, o))
	}
	e.End, e.From = t.End, e.From-time.Second
	return e, t.End != nil && !t.End.Well()
}

func (w *wait) turned(e event, t *sample.Tail, long time.Duration) (event, bool) {
	for _, s := range t.Stalls {
		if s.Start > w.reported && s.Length > long {
			w.reported, e.From = s.Start, s.Start
			return e.ofTurn(t), true
		}
	}
	if at := t.Rest.Turn; at > w.reported && t.Now-at > long {
		w.reported, e.From = at, at
		return e.ofTurn(t), true
	}
	return e, false
}

// ofTurn is what is known now of the turn that began at From.
func (e event) ofTurn(t *sample.Tail) event {
	e.Open, e.To = true, t.Now
	for _, s := range t.Stalls {
		if s.Start == e.From {
			e.Open, e.Stall, e.To = false, &s, s.Start+s.Length
		}
	}
	e.Amount = float64(e.To - e.From)
	return e
}

func (w *wait) slept(e event, t *sample.Tail, long time.Duration) (event, bool) {
	for _, s := range t.Samples[len(t.Samples)-t.New:] {
		if s.Sleep != nil && !s.Thread && s.Time > w.reported && s.Sleep.For > long {
			w.reported, e.From, e.Turn = s.Time, s.Time, s.Turn
			return e.ofSleep(t), true
		}
	}
	if s := t.Asleep; s != nil && s.Time > w.reported && t.Now-s.Time > long {
		w.reported, e.From, e.Turn = s.Time, s.Time, s.Turn
		return e.ofSleep(t), true
	}
	return e, false
}

// ofSleep is what is known now of the sleep that began at From.
func (e event) ofSleep(t *sample.Tail) event {
	e.Open, e.To = true, t.Now
	for _, s := range t.Samples {
		if s.Sleep != nil && !s.Thread && s.Time == e.From {
			e.Open, e.To = false, s.Time+s.Sleep.For
		}
	}
	e.Amount = float64(e.To - e.From)
	return e
}

// coarse is by how much nginx's clock may be behind when a turn begins: it goes on with the kernel's ticks.
const coarse = 10 * time.Millisecond

// heldFor is how old the turn of the event loop was at a time of which a sample tells; 0: it does not.
func heldFor(s sample.Sample, at time.Duration) time.Duration {
	held := at - time.Duration(s.Turn)*time.Millisecond - coarse
	if !s.Lua || s.Thread || s.Turn == 0 || held > time.Hour { // an old nginx's clock is that of the calendar
		return 0
	}
	return held
}

func (w *wait) held(e event, t *sample.Tail, long time.Duration) (event, bool) {
	is := func(s sample.Sample, until time.Duration) bool {
		if s.Turn <= w.turn || heldFor(s, until) <= long {
			return false
		}
		w.turn, e.Turn = s.Turn, s.Turn
		e.From = time.Duration(s.Turn) * time.Millisecond
		return true
	}
	for _, s := range t.Samples[len(t.Samples)-t.New:] {
		if is(s, s.Until()) {
			return e.ofHeld(t), true
		}
	}
	if s := t.Asleep; s != nil && is(*s, t.Now) {
		return e.ofHeld(t), true
	}
	return e, false
}

// ofHeld is what is known now of the turn by its clock.
func (e event) ofHeld(t *sample.Tail) event {
	const still = 500 * time.Millisecond // the worker was seen in the turn so recently: it has not ended
	e.To = e.From
	for _, s := range t.Samples {
		if s.Lua && !s.Thread && s.Turn == e.Turn {
			e.To = max(e.To, s.Until())
		}
	}
	switch last := len(t.Samples) - 1; {
	case t.Asleep != nil && t.Asleep.Turn == e.Turn:
		e.Open, e.To = true, t.Now
	case t.Rest.Waits:
		e.Open = false
	default:
		e.Open = t.Now-e.To < still && (last < 0 || t.Samples[last].Turn == e.Turn)
	}
	e.Amount = float64(e.To - e.From - coarse)
	return e
}

// now brings an event that may go on up to now.
func (e event) now(t *sample.Tail) event {
	switch e.Condition.What {
	case Turn:
		return e.ofTurn(t)
	case Sleep:
		return e.ofSleep(t)
	case Held:
		return e.ofHeld(t)
	case Heap, Growth: // it was noticed early, and goes on
		e.To = t.Now
	}
	return e
}

func (w *wait) requested(e event, all []ngxlua.InFlight, long time.Duration) (event, bool) {
	old := map[string]bool{}
	found := false
	for _, r := range all {
		if r.Age <= long || r.URI == "" {
			continue
		}
		key := fmt.Sprint(r.Began.UnixMilli(), r.Method, r.URI)
		if old[key] = true; !w.old[key] && !found {
			found = true // the oldest of them
			e.Request, e.Amount, e.From = &r, float64(r.Age), e.To-r.Age
		}
	}
	w.old = old
	return e, found
}

// lasting tells a state once, until it has not held for as long as is kept.
func (w *wait) lasting(e event, o *lookout, holds bool) (event, bool) {
	if !holds {
		return e, false
	}
	before := w.reported
	w.reported = e.To
	return e, before == 0 || e.To-before > o.Keep
}

// share finds what part of the condition's time something took.
func (w *wait) share(e *event, o *lookout, of func(Reading) time.Duration) bool {
	now := o.readings[len(o.readings)-1]
	for i := len(o.readings) - 1; i >= 0; i-- {
		r := o.readings[i]
		if passed := now.At - r.At; passed >= w.For {
			e.Amount, e.From = float64(of(now)-of(r))/float64(passed), r.At
			return e.Amount > w.Above
		}
	}
	return false // it is not known for so long
}

// grown finds by how much the heap is above the largest that it had in the older half of the time kept. LuaJIT's
// collector lets a heap double between two of its rounds.
func (w *wait) grown(e *event, o *lookout) bool {
	now := o.readings[len(o.readings)-1]
	if o.readings[0].At > now.At-o.Keep {
		return false // it is not known for so long
	}
	for _, r := range o.readings {
		if age := now.At - r.At; age <= o.Keep && age >= o.Keep/2 {
			e.Base = max(e.Base, float64(r.Heap))
		}
	}
	if e.Base == 0 {
		return false
	}
	e.Amount, e.From = float64(now.Heap)/e.Base-1, now.At-o.Keep/2
	return e.Amount > w.Above
}

// collects tells of a sample in which Lua's collector computed.
func collects(s sample.Sample) bool {
	return s.Lua && s.Sleep == nil && !s.Thread && s.State == luajit.Collect
}
