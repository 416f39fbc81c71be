package load

import (
	"fmt"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

const (
	// saturatedShare of a processor is as good as all of it.
	saturatedShare = 0.95
	// lagOfTail is the share of the p99 from which on the client made it.
	lagOfTail = 0.5
	// tail is the share of requests beyond the p99.
	tail = 0.01
)

// client says how far the client can be trusted.
func (s *side) client(side record.LoadSide) record.LoadClient {
	w := s.whole
	var c record.LoadClient
	if w.threadNS > 0 {
		c.CPUShare = w.cpu / w.threadNS
	}
	if w.responses > 0 {
		c.CPUPerRequestNS = w.cpu / float64(w.responses)
	}
	c.LoopLagP99NS, c.LoopLagMaxNS = weightedQuantile(s.lags, 0.9), max(s.lagMax, slices.Max(append(s.stops, 0)))
	if n := float64(s.connections * max(1, s.plan.Pipeline)); n > 0 && w.ns > 0 {
		c.XROverN = w.sum / w.ns / n
	}
	p99 := side.RawNS.P99
	switch {
	case w.responses == 0:
		c.Verdict = "nothing was answered, so there is no tail"
	case p99 > 0 && c.LoopLagP99NS >= lagOfTail*p99:
		c.Saturated = true
		c.Verdict = fmt.Sprintf("the client made the tail: its event loop was up to %s late in 99 of 100 events, of a p99 of %s",
			ui.Time(c.LoopLagP99NS), ui.Time(p99))
	case s.waited(lagOfTail*side.LatencyNS.P99) >= lagOfTail*tail:
		c.Saturated = true
		c.Verdict = fmt.Sprintf("the client made the tail: it stood still %s, for up to %s, together %.2g %% of the time, of a p99 of %s",
			times(len(s.stops)), ui.Time(slices.Max(s.stops)), 100*s.waited(0), ui.Time(side.LatencyNS.P99))
	case c.CPUShare >= saturatedShare:
		c.Saturated = true
		c.Verdict = fmt.Sprintf("the client had no CPU time left (%.0f %% used): a faster client may see more answers a second", 100*c.CPUShare)
	default:
		c.Verdict = "the server made the tail, not the client"
	}
	return c
}

// waited is the share of the time in which a request that became due waited longer than ns because the client was away.
// A stop of length L has L - ns of that time. Raw latencies know nothing of it: no request was under way.
func (s *side) waited(ns float64) float64 {
	sum := 0.0
	for _, stop := range s.stops {
		sum += max(0, stop-ns)
	}
	return sum / max(1, s.whole.threadNS)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
