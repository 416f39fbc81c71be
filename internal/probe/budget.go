package probe

import (
	"math"
	"time"
)

// A budget is how much of a worker's time may be spent on observing it: a share of the time, of which what is not spent is
// saved for a while, and no longer. So an hour in which there was little to observe is not made up for by a second that is all
// observing.
type budget struct {
	share float64       // 0.01: 1 % of the time
	debt  time.Duration // below 0: that may still be spent
	spent time.Duration // that was known of
	at    time.Duration // of the last call
}

// saved is for how long of the time that has passed the budget may still be spent.
const saved = time.Second

// pause is how long nothing may be spent until the debt is paid. spent and now are since the beginning. In any time t no more
// than the budget of t and of saved is spent, and what was until pause was asked for.
func (b *budget) pause(spent, now time.Duration) time.Duration {
	part := func(of time.Duration) time.Duration { return time.Duration(b.share * float64(of)) }
	b.debt = max(b.debt-part(now-b.at), -part(saved)) + spent - b.spent
	b.spent, b.at = spent, now
	return Pause(b.debt, 0, b.share)
}

// InPrograms is what a trap costs a program whose cost was measured in a loop that does nothing else. In programs it was 1.2 to 1.3
// times that, see benchmarks/probe/README.md. It counts for budgets alone.
func InPrograms(trap time.Duration) time.Duration {
	const more = 1.2
	return time.Duration(more * float64(trap))
}

// Pause is how long nothing may be spent until the cost is within a share of the time that has elapsed.
func Pause(cost, elapsed time.Duration, share float64) time.Duration {
	if wanted := float64(cost) / share; wanted < math.MaxInt64 {
		return max(0, time.Duration(wanted)-elapsed)
	}
	return math.MaxInt64
}
