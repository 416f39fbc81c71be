package worker

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPurse: who spends only where there is no rest to keep, and at most so much at once, is within the budget over any time.
func TestPurse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 20 * time.Millisecond // at once
		p := purse{budget: rapid.Float64Range(0.001, 1).Draw(t, "budget")}
		type moment struct{ spent, now time.Duration }
		all := []moment{{}}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			last := all[len(all)-1]
			// A while passes; then something is spent, and it is known what.
			now := last.now + time.Duration(rapid.Int64Range(0, int64(5*time.Second)).Draw(t, "idle"))
			spent := last.spent
			if p.rest(spent, now) == 0 {
				spent += time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, "spent"))
			}
			p.rest(spent, now)
			all = append(all, moment{spent, now})
		}
		for i, from := range all {
			for _, to := range all[i:] {
				may := p.budget*float64(to.now-from.now+saved) + float64(most)
				if got := float64(to.spent - from.spent); got > may+float64(len(all)) {
					t.Fatalf("%v are spent in %v", to.spent-from.spent, to.now-from.now)
				}
			}
		}
	})
	p := purse{budget: 0.01}
	if got := p.rest(20*time.Millisecond, time.Second); got != time.Second { // one second's budget is there, another is owed
		t.Errorf("a rest of %v", got)
	}
	if got := p.rest(20*time.Millisecond, 2*time.Second); got != 0 {
		t.Errorf("a rest of %v", got)
	}
	if got := p.rest(60*time.Millisecond, time.Hour); got != 3*time.Second { // an hour is not saved
		t.Errorf("a rest of %v", got)
	}
}
