package probe

import "time"

// Rest is what became of the time of a worker's main thread. Computed also has what a hypervisor took
// away from it.
type Rest struct {
	Computed  time.Duration // it ran
	Idle      time.Duration // it waited for events
	Slept     time.Duration // it was put to sleep by anything else
	Queued    time.Duration // it could have run, and waited for a processor
	Halted    time.Duration // by a signal (SIGSTOP), or by another program that traces it
	Sleeps    int
	Unseen    int           // of these, without stacks: more in a second than are looked at
	UnseenFor time.Duration // how long those took
	Turns     Turns         // of the event loop

	// The turn that had not ended: when it began, since the machine started, and what became of it so
	// far. Turn is 0 where the worker waited for events.
	Turn, TurnSlept, TurnQueued time.Duration
}

// Whereabouts is where a worker's main thread is: enum away in moment.h.
type Whereabouts uint32

// Whereabouts.
const (
	Running Whereabouts = 0
	Idle    Whereabouts = 1 // it waits for events
	Asleep  Whereabouts = 2 // in anything else
)

// And is what became of the time of both.
func (r Rest) And(o Rest) Rest {
	r.Computed += o.Computed
	r.Idle += o.Idle
	r.Slept += o.Slept
	r.Queued += o.Queued
	r.Halted += o.Halted
	r.Sleeps += o.Sleeps
	r.Unseen += o.Unseen
	r.UnseenFor += o.UnseenFor
	r.Turns.Longest = max(r.Turns.Longest, o.Turns.Longest)
	for i, n := range o.Turns.counts {
		r.Turns.counts[i] += n
	}
	return r
}

// goOn counts the time since the last switch, with what the thread is at (enum away).
func (r *Rest) goOn(away uint32, since time.Duration) {
	switch away {
	case 0:
		r.Computed += since
	case 1:
		r.Idle += since
	case 2, 3:
		r.Slept += since
		r.TurnSlept += since
	case 4:
		r.Queued += since
		r.TurnQueued += since
	case 5:
		r.Halted += since
	}
}

// As in moment.h.
const (
	turnLowest  = 10
	turnEach    = 16
	turnBuckets = 1 + turnEach*28
)

// Turns are turns of the event loop by their length: from one wait for events to the next.
type Turns struct {
	Longest time.Duration
	counts  [turnBuckets]uint64
}

// Count is how many there were.
func (t *Turns) Count() (n int) {
	for _, c := range t.counts {
		n += int(c)
	}
	return n
}

// Percentile is the length that p per cent of the turns do not exceed, within 3 %; 0 without turns.
func (t *Turns) Percentile(p float64) time.Duration {
	left := p / 100 * float64(t.Count())
	for i, c := range t.counts {
		if left -= float64(c); left <= 0 && c > 0 {
			return min(middle(i), t.Longest)
		}
	}
	return t.Longest
}

// middle is the middle of a bucket: see bucket in sleep.bpf.c.
func middle(bucket int) time.Duration {
	if bucket == 0 {
		return 1 << (turnLowest - 1)
	}
	power, part := turnLowest+(bucket-1)/turnEach, (bucket-1)%turnEach
	width := time.Duration(1) << power / turnEach
	return time.Duration(turnEach+part)*width + width/2
}
