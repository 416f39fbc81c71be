package report

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/ui"
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
		cycles, length, freed, step := fmt.Sprintf("%.1f", c.Cycles), p.None, p.None, p.None
		const often = 0.02 // of the interval
		if c.Missed > often {
			cycles = p.AtLeast + cycles
		}
		if n := len(c.Last); n > 0 {
			last := c.Last[n-1]
			length = p.Time(float64(last.Length))
			freed = fmt.Sprintf("%s %s %s", p.Size(float64(last.Marked)), p.Arrow, p.Size(float64(last.Left)))
		}
		if l := c.Longest; l != nil {
			step = "< " + p.Time(float64(l.Most))
			if l.Least > 0 {
				step = p.Time(float64(l.Least)) + p.Dash + p.Time(float64(l.Most))
			}
		}
		table = append(table, []string{fmt.Sprint(r.PID), p.Size(c.Allocated.Estimate) + "/s", cycles,
			fmt.Sprintf("%s (%s%s%s)", ui.Percent(c.Share.Estimate), ui.Percent(c.Share.Low), p.Dash, ui.Percent(c.Share.High)),
			step, length, freed, p.Size(float64(c.Lowest)) + p.Dash + p.Size(float64(c.Highest))})
	}
	if len(table) == 0 {
		return
	}
	p.Section("garbage collection")
	p.Fitted([]string{"worker", "allocates", "cycles/s", "collects", "longest step", "last cycle", "freed", "heap"}, table)
}
