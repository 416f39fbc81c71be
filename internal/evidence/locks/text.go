package locks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/ui"
)

// Text shows how long locks were waited for and held, those first that were waited for longest, and what it cost to know.
func (r *Result) Text(p *ui.Page, whose string) {
	p.Section("locks of shared memory, timed" + whose)
	if r.Probed == 0 {
		p.FaintLine(fmt.Sprintf("not timed meanwhile: the budget (%s) was spent before", ui.Percent(r.Budget)))
		return
	}
	zones := slices.SortedStableFunc(slices.Values(r.Zones), func(a, b Zone) int { return cmp.Compare(b.Waits.Total, a.Waits.Total) })
	var rows [][]string
	for _, z := range zones[:min(len(zones), ui.MostListed)] {
		rate := p.Rate(z.Rate)
		if r.AtLeast() {
			rate = p.AtLeast + rate
		}
		rows = append(rows, append([]string{ui.Clean(z.Zone), "waits", rate}, r.row(p, z.Waits)...), append([]string{"", "holds", ""}, r.row(p, z.Holds)...))
	}
	if len(rows) > 0 {
		p.Fitted([]string{"zone", "", "taken/s", "median", "99 %", "longest", "share"}, rows, 1)
		p.More(len(zones))
	}
	taken := ui.Plural(r.Taken, "lock was", "locks were") + " taken"
	if r.Taken == 0 {
		taken = "none was taken"
	}
	p.FaintLine(fmt.Sprintf("%s in %s of probing, of %s. The probe adds at most %s to each, also to the times above: at most %s of the workers' time (--budget %s).",
		taken, p.Time(float64(r.Probed)), p.Time(float64(r.Elapsed)), p.Time(float64(r.Each)), ui.Percent(r.CostShare()), ui.Percent(r.Budget)))
	observe.Rests(p, r.Duty, "a wait or hold")
}

func (r *Result) row(p *ui.Page, d probe.Durations) []string {
	if d.Count == 0 {
		return []string{p.None, p.None, p.None, p.None}
	}
	return []string{p.Timed(d.Median.Nanoseconds()), p.Timed(d.P99.Nanoseconds()), p.Timed(d.Longest.Nanoseconds()), ui.Percent(r.Share(d.Total))}
}
