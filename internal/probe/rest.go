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
	Unseen    int           // of these, without stacks: more in a second than are sampled
	UnseenFor time.Duration // how long those took
	Turns     Durations     // of the event loop

	Waits  bool          // for events, now
	Asleep time.Duration // since when it is put to sleep, since the machine started; 0: it is not

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
	unseen  Whereabouts = 3 // the same, not told
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
	r.Turns = r.Turns.And(o.Turns)
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
