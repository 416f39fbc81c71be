package load

import (
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/lap"
)

const (
	liveNS     = 1e9 // how much of a side's own time the live rate is over
	quantileNS = 1e8 // how much of it the live quantiles are of
)

// live keeps the latest slices of each side. It reads histograms only when it is drawn, and few of them.
type live struct {
	options Options
	recent  [][]record.LoadSlice
	errors  []int64
}

func newLive(o Options) *live {
	return &live{options: o, recent: make([][]record.LoadSlice, len(o.Sides)), errors: make([]int64, len(o.Sides))}
}

func (l *live) add(s record.LoadSlice) {
	l.errors[s.Side] += s.Errors.Total()
	l.recent[s.Side] = l.latest(append(l.recent[s.Side], s), liveNS)
}

// latest are the last slices of a list, of so much time or a little more, and one for each thread at least.
func (l *live) latest(list []record.LoadSlice, ns float64) []record.LoadSlice {
	threads := max(1, l.options.Plan.Threads)
	from, sum := len(list), 0.0
	for from > 0 && (sum < ns*float64(threads) || len(list)-from < threads) {
		from--
		sum += list[from].NS
	}
	return list[from:]
}

// sides are what the sides did lately.
func (l *live) sides() []Live {
	var list []Live
	for i, recent := range l.recent {
		one := Live{Name: l.options.Sides[i].Name, Errors: l.errors[i]}
		responses, ns := int64(0), 0.0
		for _, s := range recent {
			responses += s.Responses
			ns += s.NS
		}
		if ns > 0 {
			one.Rate = float64(responses) / (ns / float64(max(1, l.options.Plan.Threads))) * 1e9
			var h *lap.Histogram
			for _, s := range l.latest(recent, quantileNS) {
				h = merge(h, s.Latency)
			}
			if h != nil {
				one.P50, one.P99, one.Max = float64(h.Percentile(50)), float64(h.Percentile(99)), float64(h.Max())
			}
		}
		list = append(list, one)
	}
	return list
}
