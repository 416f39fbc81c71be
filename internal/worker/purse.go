package worker

import "time"

// A purse is how much of a worker's time may be spent on looking at it: a share of the time, of which what is not spent is
// saved for a while, and no longer. So an hour in which there was little to look at is not made up for by a second that is all looking.
type purse struct {
	budget float64       // 0.01: 1 % of the time
	debt   time.Duration // below 0: that may still be spent
	spent  time.Duration // that was known of
	at     time.Duration // of the last call
}

// saved is for how long of the time that has passed the budget may still be spent.
const saved = time.Second

// rest is how long nothing may be spent until the debt is paid. spent and now are since the beginning. In any time t no more than
// the budget of t and of saved is spent, and what was until rest was asked for.
func (p *purse) rest(spent, now time.Duration) time.Duration {
	share := func(of time.Duration) time.Duration { return time.Duration(p.budget * float64(of)) }
	p.debt = max(p.debt-share(now-p.at), -share(saved)) + spent - p.spent
	p.spent, p.at = spent, now
	return rest(p.debt, 0, p.budget)
}
