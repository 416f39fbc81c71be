package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/watch"
)

// watchLocks lists the locks of shared memory that were taken, those first that were waited for longest.
func (p *page) watchLocks(s watch.Snapshot) {
	for _, m := range s.Masters {
		l := m.Locks
		if l == nil {
			continue
		}
		title := "locks of shared memory"
		if len(s.Masters) > 1 {
			title += fmt.Sprintf(" of nginx %d", m.PID)
		}
		p.Section(title)
		if len(l.Zones) > 0 {
			p.lockTable(l)
		}
		said := fmt.Sprintf("timed in %s of the interval, at a cost of at most %s of the workers' time (--budget %s)", ui.Percent(l.Probed), ui.Percent(l.Cost), ui.Percent(l.Budget))
		switch {
		case l.Probed == 0:
			said = fmt.Sprintf("not timed in this interval: the budget (%s) was spent before", ui.Percent(l.Budget))
		case len(l.Zones) == 0:
			said += "; none was taken"
		}
		p.FaintLine(said)
	}
}

func (p *page) lockTable(l *watch.Locks) {
	zones := slices.SortedStableFunc(slices.Values(l.Zones), func(a, b watch.ZoneLock) int { return cmp.Compare(b.Wait.Total, a.Wait.Total) })
	var table [][]string
	for _, z := range zones[:min(len(zones), ui.MostListed)] {
		rate := p.Rate(z.Rate)
		if l.AtLeast {
			rate = p.AtLeast + rate
		}
		row := []string{ui.Clean(z.Zone), rate}
		for _, s := range []explain.Spans{z.Wait, z.Hold} {
			if s.Count == 0 {
				row = append(row, p.None, p.None, p.None, p.None)
				continue
			}
			row = append(row, ui.Percent(s.Share), p.Timed(s.Median), p.Timed(s.P99), p.Timed(s.Longest))
		}
		table = append(table, row)
	}
	p.Fitted([]string{"zone", "taken/s", "waited", "p50", "p99", "longest", "held", "p50", "p99", "longest"}, table)
	p.More(len(zones))
}
