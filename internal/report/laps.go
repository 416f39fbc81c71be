package report

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/record"
)

// laps draws the distribution of calls timed one by one.
func (p *page) laps(c record.CaseResult) {
	l := c.Laps
	if l == nil {
		return
	}
	p.fact("laps", p.join(plural(int(l.Count), "call", "calls")+" timed one by one", "mean "+p.time(l.MeanNS), p.lapOverhead(l)))
	p.fact("rate", p.lapRate(c))
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
	if p.opt.Width < defaultWidth { // p90 and p99.99 say least
		for _, row := range append(rows, headers) {
			copy(row[3:], []string{row[4], row[5], row[7]})
		}
		headers = headers[:6]
		for i := range rows {
			rows[i] = rows[i][:6]
		}
	}
	p.table(headers, rows)
	if l.Service != nil && l.Response != nil {
		p.para("  ", "service is from the actual start of a call, response from the time it should have started.", p.faint)
	}
}

func (p *page) percentileRow(name string, q record.Percentiles) []string {
	row := []string{name}
	for _, ns := range []float64{q.Min, q.P50, q.P90, q.P99, q.P999, q.P9999, q.Max} {
		row = append(row, p.time(ns))
	}
	return row
}

func (p *page) lapOverhead(l *record.LapsResult) string {
	if l.Calls == nil || l.OverheadNS.Estimate == 0 { // far below a call that yields
		return ""
	}
	return "the clock's " + p.interval(l.OverheadNS) + " is taken off each"
}

// lapRate is for targets that yield: how many calls a second, at once, and in time.
func (p *page) lapRate(c record.CaseResult) string {
	if c.Laps.PerSecond == 0 {
		return ""
	}
	rate := p.rate(c.Laps.PerSecond) + " calls/s"
	late, threads := "", ""
	if c.Case.Rate > 0 {
		rate += " achieved of " + p.rate(c.Case.Rate) + " asked for"
		late = "none started late"
		if c.Laps.Late > 0 && c.Laps.Count > 0 {
			late = fmt.Sprintf("%s started late (%s)", plural(int(c.Laps.Late), "call", "calls"),
				percent(float64(c.Laps.Late)/float64(c.Laps.Count)))
		}
	}
	if c.Case.Concurrency > 0 {
		threads = plural(c.Case.Concurrency, "light thread", "light threads")
	}
	return p.join(rate, late, threads)
}
