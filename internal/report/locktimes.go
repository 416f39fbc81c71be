package report

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/ui"
)

// lockTimes shows how long locks were waited for and held, and what it cost to know.
func (p *page) lockTimes(l *explain.LockTimes) {
	if l == nil {
		return
	}
	p.Section("locks of shared memory, timed")
	if l.Taken == 0 {
		p.Para("  ", fmt.Sprintf("none was taken in %s of probing", p.Time(float64(l.Probed))), p.Faint)
		return
	}
	at := p.Timed
	var rows [][]string
	for _, z := range l.Zones {
		row := func(zone, what string, s explain.Spans) {
			if s.Count == 0 {
				rows = append(rows, []string{zone, what, "0", "", "", "", ""})
				return
			}
			rows = append(rows, []string{zone, what, ui.Count(s.Count), at(s.Median), at(s.P99),
				p.Time(float64(s.Longest)), ui.Percent(s.Share)})
		}
		row(ui.Clean(z.Zone), "waits", z.Wait)
		row("", "holds", z.Hold)
	}
	p.Table([]string{"zone", "", "times", "median", "99 %", "longest", "share"}, rows, 1)
	p.Para("  ", fmt.Sprintf("%s taken in %s of probing, of %s. The probe adds at most %s to each, also to the times above: at most %s of the workers' time (--budget %s).",
		ui.Plural(l.Taken, "lock", "locks"), p.Time(float64(l.Probed)), p.Time(float64(l.Elapsed)), p.Time(float64(l.Each)), ui.Percent(l.Cost), ui.Percent(l.Budget)), p.Faint)
	if l.Cost > l.Budget {
		p.Para("  ", "That is more than the budget, by what came until it was detached.", p.Faint)
	}
	if l.Probed < l.Elapsed*9/10 {
		p.Para("  ", fmt.Sprintf("To stay within that, it was attached in %s; a wait or hold that did not end within one is missing.", ui.Plural(l.Bursts, "burst", "bursts")), p.Faint)
	}
}
