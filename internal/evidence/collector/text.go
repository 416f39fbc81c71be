package collector

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/ui"
)

// Text shows what the collectors did that had something to do.
func (r *Result) Text(p *ui.Page, whose string) {
	var table [][]string
	for _, w := range r.Workers {
		if w.Cycles == 0 && w.Share.Estimate == 0 && w.Longest == nil && w.Allocated.Estimate < 1 {
			continue
		}
		cycles, length, freed, step := fmt.Sprintf("%.1f", w.Cycles), p.None, p.None, p.None
		const often = 0.02 // of the interval
		if w.Missed > often {
			cycles = p.AtLeast + cycles
		}
		if n := len(w.Last); n > 0 {
			last := w.Last[n-1]
			length = p.Time(float64(last.Length))
			freed = fmt.Sprintf("%s %s %s", p.Size(float64(last.Marked)), p.Arrow, p.Size(float64(last.Left)))
		}
		if l := w.Longest; l != nil {
			step = "< " + p.Time(float64(l.Most))
			if l.Least > 0 {
				step = p.Time(float64(l.Least)) + p.Dash + p.Time(float64(l.Most))
			}
		}
		table = append(table, []string{fmt.Sprint(w.PID), p.Size(w.Allocated.Estimate) + "/s", cycles,
			p.ShareRange(w.Share),
			step, length, freed, p.Size(float64(w.Lowest)) + p.Dash + p.Size(float64(w.Highest))})
	}
	if len(table) == 0 {
		return
	}
	p.Section("garbage collection" + whose)
	p.Fitted([]string{"worker", "allocates", "cycles/s", "collects", "longest step", "last cycle", "freed", "heap"}, table)
}
