package probe

import (
	"testing"
	"time"
)

// TestShortest: rounds that were disturbed, be they nearly all, do not make a trap more expensive; and one that is odd not cheaper.
func TestShortest(t *testing.T) {
	var rounds []time.Duration
	for n := range 41 {
		rounds = append(rounds, time.Duration(4000+n))
	}
	rounds[7], rounds[20], rounds[33], rounds[40] = 650, 1, 640, 660
	if got := shortest(rounds); got != 650 {
		t.Errorf("%v", got)
	}
	if got := shortest([]time.Duration{5}); got != 5 {
		t.Errorf("of one: %v", got)
	}
}
