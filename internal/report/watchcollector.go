package report

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/watch"
)

// watchCollector shows what the garbage collectors did that had something to do.
func (p *page) watchCollector(s watch.Snapshot) {
	var table [][]string
	for _, r := range s.Workers {
		c := r.Collector
		if c == nil || c.Cycles == 0 && c.Share.Estimate == 0 && c.Longest == nil && c.Allocated.Estimate < 1 {
			continue
		}
		cycles, length, freed, step := fmt.Sprintf("%.1f", c.Cycles), p.none, p.none, p.none
		const often = 0.02 // of the interval
		if c.Missed > often {
			cycles = p.atLeast + cycles
		}
		if n := len(c.Last); n > 0 {
			last := c.Last[n-1]
			length = p.time(float64(last.Length))
			freed = fmt.Sprintf("%s %s %s", p.size(float64(last.Marked)), p.arrow, p.size(float64(last.Left)))
		}
		if l := c.Longest; l != nil {
			step = "< " + p.time(float64(l.Most))
			if l.Least > 0 {
				step = p.time(float64(l.Least)) + p.dash + p.time(float64(l.Most))
			}
		}
		table = append(table, []string{fmt.Sprint(r.PID), p.size(c.Allocated.Estimate) + "/s", cycles,
			fmt.Sprintf("%s (%s%s%s)", percent(c.Share.Estimate), percent(c.Share.Low), p.dash, percent(c.Share.High)),
			step, length, freed, p.size(float64(c.Lowest)) + p.dash + p.size(float64(c.Highest))})
	}
	if len(table) == 0 {
		return
	}
	p.section("garbage collection")
	p.fitted([]string{"worker", "allocates", "cycles/s", "collects", "longest step", "last cycle", "freed", "heap"}, table)
}
