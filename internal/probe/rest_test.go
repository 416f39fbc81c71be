package probe

import (
	"testing"
	"time"
)

// TestRest: what became of two workers' time is added up, without a change of either.
func TestRest(t *testing.T) {
	a := Rest{Spent: Spent{Slept: 1}, Turns: durationsOf(5*time.Microsecond, 5*time.Microsecond)}
	b := a.And(a)
	if b.Slept != 2 || b.Turns.Count != 4 || a.Turns.Count != 2 || b.Turns.Longest != 5*time.Microsecond {
		t.Errorf("%+v", b)
	}
}
