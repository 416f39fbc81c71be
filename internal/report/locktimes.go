package report

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/explain"
)

// lockTimes shows how long locks were waited for and held, and what it cost to know.
func (p *page) lockTimes(l *explain.LockTimes) {
	if l == nil {
		return
	}
	p.section("locks of shared memory, timed")
	if l.Taken == 0 {
		p.para("  ", fmt.Sprintf("none was taken in %s of probing", p.time(float64(l.Probed))), p.faint)
		return
	}
	at := p.timed
	var rows [][]string
	for _, z := range l.Zones {
		row := func(zone, what string, s explain.Spans) {
			if s.Count == 0 {
				rows = append(rows, []string{zone, what, "0", "", "", "", ""})
				return
			}
			rows = append(rows, []string{zone, what, count(s.Count), at(s.Median), at(s.P99),
				p.time(float64(s.Longest)), percent(s.Share)})
		}
		row(clean(z.Zone), "waits", z.Wait)
		row("", "holds", z.Hold)
	}
	p.table([]string{"zone", "", "times", "median", "99 %", "longest", "share"}, rows, 1)
	p.para("  ", fmt.Sprintf("%s taken in %s of probing, of %s. The probe adds at most %s to each, also to the times above: at most %s of the workers' time (--budget %s).",
		plural(l.Taken, "lock", "locks"), p.time(float64(l.Probed)), p.time(float64(l.Elapsed)), p.time(float64(l.Each)), percent(l.Cost), percent(l.Budget)), p.faint)
	if l.Cost > l.Budget {
		p.para("  ", "That is more than the budget, by what came until it was detached.", p.faint)
	}
	if l.Probed < l.Elapsed*9/10 {
		p.para("  ", fmt.Sprintf("To stay within that, it was attached in %s; a wait or hold that did not end within one is missing.", plural(l.Bursts, "burst", "bursts")), p.faint)
	}
}

// timed is a time of a histogram, as far as it is told apart from others.
func (p *page) timed(ns int64) string {
	const told = 1024 // shorter ones are in one bucket
	if ns < told {
		return "< 1 µs"
	}
	return p.time(float64(ns))
}
