package load

import (
	"github.com/moonlap/moonlap/internal/record"
)

// liveNS is how much of a side's own time the live rate is over.
const liveNS = 1e9

// live keeps the latest slices of each side. It reads a histogram only when it is drawn, and one a side.
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
	kept := append(l.recent[s.Side], s)
	most := int(liveNS/max(1, l.options.Plan.SliceNS)+1) * max(1, l.options.Plan.Threads)
	if len(kept) > most {
		kept = kept[len(kept)-most:]
	}
	l.recent[s.Side] = kept
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
			if h := merge(nil, recent[len(recent)-1].Latency); h != nil {
				one.P50, one.P99, one.Max = float64(h.Percentile(50)), float64(h.Percentile(99)), float64(h.Max())
			}
		}
		list = append(list, one)
	}
	return list
}
