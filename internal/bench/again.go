package bench

import (
	"context"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
)

// again measures once more, for each case whose processes lie on levels that nothing but time sets apart, a seed of every
// level: what the seed brings again is the code's, what comes and goes is the machine's. Compared cases have each other for
// that, and a number of processes that the user gave is kept.
func (r *run) again(ctx context.Context) error {
	first := &r.Sides[0]
	if r.Comparing != nil || r.count > 0 || first.ProcessSeed != nil || !r.limits.again {
		return nil
	}
	seeds := stat.Unsettled(r.record)
	round := 1 + lastRound(r.record)
	for range stat.LeastAgain {
		for _, s := range r.states() {
			for _, seed := range seeds[s.Case.Case] {
				if ctx.Err() != nil {
					return nil
				}
				r.tell(s, round)
				if err := r.measure(ctx, s, round, seed); err != nil {
					return err
				}
				round++
			}
		}
	}
	return nil
}

func lastRound(rec *record.Record) (last int) {
	for _, p := range rec.Processes {
		last = max(last, p.Process.Round)
	}
	return last
}
