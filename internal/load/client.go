package load

import (
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

const (
	// saturatedShare of a processor is as good as all of it.
	saturatedShare = 0.95
	// lagOfTail is the share of the p99 from which on the client made it.
	lagOfTail = 0.5
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
	c.LoopLagP99NS, c.LoopLagMaxNS = weightedQuantile(s.lags, 0.9), s.lagMax
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
			short(c.LoopLagP99NS), short(p99))
	case c.CPUShare >= saturatedShare:
		c.Saturated = true
		c.Verdict = fmt.Sprintf("the client had no CPU time left (%.0f %% used): a faster client may see more answers a second", 100*c.CPUShare)
	default:
		c.Verdict = "the server made the tail, not the client"
	}
	return c
}

// short is a time as people read it.
func short(ns float64) string {
	d := time.Duration(ns)
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d >= 10*time.Microsecond:
		return d.Round(100 * time.Nanosecond).String()
	}
	return d.String()
}
