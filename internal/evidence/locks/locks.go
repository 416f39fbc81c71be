// Package locks is evidence of locks of shared memory: which ones samples wait for, and how long each is waited for and held.
package locks

import "github.com/moonlap/moonlap/internal/observe"

// Name is that of the kind that is timed.
const Name = "locks"

// Kind is how long locks are waited for and held, which is timed by probes in the worker.
var Kind = observe.Kind{
	Name: Name, Usage: "also time how long locks are waited for and held",
	Conflicts: []string{"allocations", "resumes"}, Observe: observeLocks,
}
