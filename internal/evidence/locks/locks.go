// Package locks is evidence of locks of shared memory: which ones samples wait for, and how long each is waited for and held.
package locks

// Kind is how long locks are waited for and held, which is timed by probes in the worker.
type Kind struct{}

// Name is that of its flag, too.
const Name = "locks"

// Name is "locks".
func (Kind) Name() string { return Name }

// Usage is that of its flag.
func (Kind) Usage() string { return "also time how long locks are waited for and held" }

// Conflicts are those whose cost would be in its figures, and the other way round.
func (Kind) Conflicts() []string { return []string{"allocations", "resumes"} }
