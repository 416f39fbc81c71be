package worker

import (
	"time"

	"github.com/moonlap/moonlap/internal/probe"
)

// Resumes is what became of the runs of Lua in one worker: how long they took, and requests waited between two. A run, a
// resume of a coroutine mostly, is from nginx's call of Lua to its return.
type Resumes struct {
	PID int
	probe.Duty
	Runs   int           // in bursts
	Each   time.Duration // what the probe costs a run
	Lost   int           // runs that were nested too deep, or could not be told of
	Phases []PhaseResumes
	Long   []LongResume // some that took longest, without what they entered, and without waits for a processor
	Unseen []string     // phases that could not be probed
}

// PhaseResumes is the runs of one phase.
type PhaseResumes struct {
	Phase string // "": not known
	probe.PhaseRuns
}

// A LongResume is a run that took longer than most.
type LongResume struct {
	PID     int
	Phase   string
	Request Request
	Start   time.Duration // since the machine started
	Whole   time.Duration
	Own     time.Duration // without others that it entered
	Queued  time.Duration // of Own: it had no processor
	From    *Frame        // the function that it began with, or the line that it went on in; nil: not known
	GoesOn  bool          // it went on with what had waited
	Pauses  bool          // it goes on later
	Waits   []Frame       // where it waits then, innermost first; none: that is not known
	Samples []Sample      // that fell into it
}
