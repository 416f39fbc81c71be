package probe

import "time"

// Spent is what became of the time of a worker's main thread. Computed also has what a hypervisor took
// away from it.
type Spent struct {
	Computed  time.Duration `json:"computed_ns"`         // it ran
	Idle      time.Duration `json:"idle_ns"`             // it waited for events
	Slept     time.Duration `json:"slept_ns"`            // it was put to sleep by anything else
	Queued    time.Duration `json:"queued_ns"`           // it could have run, and waited for a processor
	Halted    time.Duration `json:"halted_ns,omitempty"` // by a signal (SIGSTOP), or by another program that traces it
	Sleeps    int           `json:"sleeps"`
	Unseen    int           `json:"sleeps_without_stack"` // of these: begun before, or more in a second than are sampled
	UnseenFor time.Duration `json:"slept_without_stack_ns"`
}

// Rest is that, with the turns of the event loop.
type Rest struct {
	Spent
	Turns Durations

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
func (s Spent) And(o Spent) Spent {
	s.Computed += o.Computed
	s.Idle += o.Idle
	s.Slept += o.Slept
	s.Queued += o.Queued
	s.Halted += o.Halted
	s.Sleeps += o.Sleeps
	s.Unseen += o.Unseen
	s.UnseenFor += o.UnseenFor
	return s
}

// And is the same of both, with their turns.
func (r Rest) And(o Rest) Rest {
	r.Spent, r.Turns = r.Spent.And(o.Spent), r.Turns.And(o.Turns)
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
