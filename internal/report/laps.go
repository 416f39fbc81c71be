package report

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// laps draws the distribution of calls timed one by one.
func (p *page) laps(c record.CaseResult) {
	l := c.Laps
	if l == nil {
		return
	}
	p.Fact("laps", p.Join(ui.Plural(int(l.Count), "call", "calls")+" timed one by one", "mean "+p.Time(l.MeanNS), p.lapOverhead(l)))
	p.Fact("rate", p.lapRate(c))
	var rows [][]string
	for _, r := range []struct {
		name string
		p    *record.Percentiles
	}{{"calls", l.Calls}, {"service", l.Service}, {"response", l.Response}} {
		if r.p != nil {
			rows = append(rows, p.percentileRow(r.name, *r.p))
		}
	}
	if len(rows) == 0 {
		return
	}
	headers := []string{"", "min", "p50", "p90", "p99", "p99.9", "p99.99", "max"}
	if p.Options.Width < ui.DefaultWidth { // p90 and p99.99 say least
		for _, row := range append(rows, headers) {
			copy(row[3:], []string{row[4], row[5], row[7]})
		}
		headers = headers[:6]
		for i := range rows {
			rows[i] = rows[i][:6]
		}
	}
	p.Table(headers, rows)
	if l.Service != nil && l.Response != nil {
		p.Para("  ", "service is from the actual start of a call, response from the time it should have started.", p.Faint)
	}
}

func (p *page) percentileRow(name string, q record.Percentiles) []string {
	row := []string{name}
	for _, ns := range []float64{q.Min, q.P50, q.P90, q.P99, q.P999, q.P9999, q.Max} {
		row = append(row, p.Time(ns))
	}
	return row
}

func (p *page) lapOverhead(l *record.LapsResult) string {
	if l.Calls == nil || l.OverheadNS.Estimate == 0 { // far below a call that yields
		return ""
	}
	return "the clock's " + p.Interval(l.OverheadNS) + " is taken off each"
}

// lapRate is for targets that yield: how many calls a second, at once, and in time.
func (p *page) lapRate(c record.CaseResult) string {
	if c.Laps.PerSecond == 0 {
		return ""
	}
	rate := p.Rate(c.Laps.PerSecond) + " calls/s"
	late := ""
	if c.Case.Rate > 0 {
		rate += " achieved of " + p.Rate(c.Case.Rate) + " asked for"
		late = "none started late"
		if c.Laps.Late > 0 && c.Laps.Count > 0 {
			late = fmt.Sprintf("%s started late (%s)", ui.Plural(int(c.Laps.Late), "call", "calls"),
				ui.Percent(float64(c.Laps.Late)/float64(c.Laps.Count)))
		}
	}
	return p.Join(rate, late, ui.When(c.Case.Concurrency > 0, ui.Plural(c.Case.Concurrency, "light thread", "light threads")))
}
