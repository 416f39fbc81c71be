package locks

import (
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/metrics"
	"github.com/moonlap/moonlap/internal/probe"
)

// bounds are the upper bounds of the histograms: every other power of two, which are exact ones.
var bounds = func() (all []time.Duration) {
	for b := time.Duration(1 << 10); b < 2*time.Second; b *= 4 {
		all = append(all, b)
	}
	return all
}()

// Metrics writes how long locks were waited for and held.
func (r *Result) Metrics(p *metrics.Page, labels ...string) {
	p.Family("locks_probed_seconds_total", "counter", "Time in which locks of shared memory were timed, of all watched workers together; the histograms below are of it.")
	p.Value(r.Probed.Seconds(), labels...)
	p.Family("locks_cost_seconds_total", "counter", "Time that timing them took from the workers, at most.")
	p.Value(r.Cost.Seconds(), labels...)
	for _, z := range r.Zones {
		histogram := func(d probe.Durations) {
			p.Histogram(bounds, func(i int) int { return d.Below(bounds[i]) }, d.Count, d.Total, append(slices.Clone(labels), "zone", z.Zone)...)
		}
		p.Family("lock_wait_seconds", "histogram", "How long a lock was waited for, with what timing takes; since it is watched.")
		histogram(z.Waits)
		p.Family("lock_hold_seconds", "histogram", "How long a lock was held, with what timing takes; since it is watched.")
		histogram(z.Holds)
	}
}
