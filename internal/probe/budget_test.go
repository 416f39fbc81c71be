package probe

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestBudget: who spends only where no pause is due, and at most so much at once, is within the budget over any time.
func TestBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 20 * time.Millisecond // at once
		p := budget{share: rapid.Float64Range(0.001, 1).Draw(t, "budget")}
		type moment struct{ spent, now time.Duration }
		all := []moment{{}}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			last := all[len(all)-1]
			// A while passes; then something is spent, and it is known what.
			now := last.now + time.Duration(rapid.Int64Range(0, int64(5*time.Second)).Draw(t, "idle"))
			spent := last.spent
			if p.pause(spent, now) == 0 {
				spent += time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, "spent"))
			}
			p.pause(spent, now)
			all = append(all, moment{spent, now})
		}
		for i, from := range all {
			for _, to := range all[i:] {
				may := p.share*float64(to.now-from.now+saved) + float64(most)
				if got := float64(to.spent - from.spent); got > may+float64(len(all)) {
					t.Fatalf("%v are spent in %v", to.spent-from.spent, to.now-from.now)
				}
			}
		}
	})
	p := budget{share: 0.01}
	if got := p.pause(20*time.Millisecond, time.Second); got != time.Second { // one second's budget is there, another is owed
		t.Errorf("a pause of %v", got)
	}
	if got := p.pause(20*time.Millisecond, 2*time.Second); got != 0 {
		t.Errorf("a pause of %v", got)
	}
	if got := p.pause(60*time.Millisecond, time.Hour); got != 3*time.Second { // an hour is not saved
		t.Errorf("a pause of %v", got)
	}
}

// TestPause: after its pause, a probe has cost no more than its share of the time, and none is longer than that takes.
func TestPause(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spent := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "spent"))
		elapsed := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "elapsed"))
		budget := rapid.Float64Range(1e-4, 1).Draw(t, "budget")
		pause := Pause(spent, elapsed, budget)
		const rounding = 1e-6
		within := float64(spent) <= budget*float64(elapsed+pause)*(1+rounding)+1
		if !within || pause < 0 || pause > 0 && float64(spent) < budget*float64(elapsed+pause-1)*(1-rounding) {
			t.Errorf("%v of %v at %v: a pause of %v", spent, elapsed, budget, pause)
		}
	})
	if got := Pause(time.Hour, 0, 1e-300); got != math.MaxInt64 {
		t.Errorf("a pause of %v", got)
	}
}
