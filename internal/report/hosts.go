package report

import (
	"io"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// Hosts draws what several hosts found in a terminal, the verdicts first, each with its forest plot. Its only error is
// that of w.
func Hosts(w io.Writer, res *record.HostsResult, opt ui.Options) error {
	p := newPage(opt)
	p.Line(p.Strong.Render("moonlap "+ui.Clean(res.Kind)) + p.Faint.Render(p.Dot+ui.Plural(len(res.Hosts), "host", "hosts")))
	for _, c := range res.Comparisons {
		p.overHosts(c)
	}
	p.hostCases(res)
	notes := &record.Results{Warnings: res.Warnings}
	for _, c := range res.Comparisons {
		notes.Comparisons = append(notes.Comparisons, record.Comparison{A: c.A, B: c.B, Warnings: c.Warnings})
	}
	p.notes(notes)
	p.Section("measured on")
	for _, h := range res.Hosts {
		p.measuredOn(h.Name, h.Environment, h.Complete)
	}
	return p.Write(w)
}

// overHosts is one A/B: what these hosts found, what that says of others, and each host's interval.
func (p *page) overHosts(c record.HostComparison) {
	name := ui.Clean(c.B) + " against " + ui.Clean(c.A)
	if c.Metric != "" {
		name += ", " + ui.Clean(c.Metric)
	}
	p.Section(name)
	p.Para("  ", p.onThese(c), p.styleOf(c.Here))
	if c.Ratio.Low > 0 && len(c.Hosts) > 1 {
		said := "on hosts like these: " + p.verdict(record.Comparison{Ratio: c.Ratio, Verdict: c.Verdict})
		if c.Next != nil && c.Between > 0 {
			said += "; the next one is between " + p.changeAt(c.Next.Low, *c.Next) + " and " + p.changeAt(c.Next.High, *c.Next)
		}
		p.Para("  ", said, p.styleOf(c.Verdict))
	}
	p.forest(c)
}

// onThese says what the hosts found that measured: "faster on each of 3 hosts".
func (p *page) onThese(c record.HostComparison) string {
	if len(c.Hosts) == 1 {
		return p.verdict(c.Hosts[0].Comparison) + " on " + ui.Clean(c.Hosts[0].Host)
	}
	first := c.Hosts[0].Verdict
	if !slices.ContainsFunc(c.Hosts, func(h record.OnHost) bool { return h.Verdict != first }) {
		return first + " on each of " + ui.Plural(len(c.Hosts), "host", "hosts")
	}
	return ui.Clean(c.Found())
}

// forest draws each host's interval of the ratio on one axis, and that over hosts below. The mark of equal sides goes
// through all of them.
func (p *page) forest(c record.HostComparison) {
	type row struct {
		name string
		iv   record.Interval
	}
	var rows []row
	low, high := 1.0, 1.0
	for _, h := range c.Hosts {
		if h.Ratio.Low > 0 && h.Ratio.High > h.Ratio.Low {
			rows = append(rows, row{ui.Clean(h.Host), h.Ratio})
			low, high = min(low, h.Ratio.Low), max(high, h.Ratio.High)
		}
	}
	if len(rows) < 2 || c.Ratio.Low <= 0 {
		return
	}
	rows = append(rows, row{"hosts like these", c.Ratio}) // cut off where it is far wider than what was measured
	width, names := 0, 0
	for _, r := range rows {
		names = max(names, lipgloss.Width(r.name))
	}
	names = min(names, nameWidth)
	figures := make([]string, len(rows))
	for i, r := range rows {
		figures[i] = p.ratio(r.iv) + " " + p.ratioRange(r.iv)
		width = max(width, lipgloss.Width(figures[i]))
	}
	axis := min(41, p.Options.Width-names-width-8)
	if axis < 11 {
		return
	}
	span := math.Log(high / low)
	from, to := math.Log(low)-span/8, math.Log(high)+span/8
	at := func(ratio float64) int {
		return int(math.Round((math.Log(ratio) - from) / (to - from) * float64(axis-1)))
	}
	p.Blank()
	for i, r := range rows {
		name := p.Shorten(r.name, names)
		p.Line("  " + name + strings.Repeat(" ", names-lipgloss.Width(name)) + "  " + p.whisker(r.iv, at, axis) + "  " + figures[i])
	}
	one := at(1)
	p.Line(p.Faint.Render(strings.Repeat(" ", max(0, names+4+one-3)) + "equal"))
}

// whisker is an interval on an axis: "[--*--]", with "|" where the sides are equal.
func (p *page) whisker(iv record.Interval, at func(float64) int, axis int) string {
	cells := []rune(strings.Repeat(" ", axis))
	set := func(i int, r rune) {
		if i >= 0 && i < axis {
			cells[i] = r
		}
	}
	set(at(1), '|')
	for i := max(0, at(iv.Low)); i <= min(axis-1, at(iv.High)); i++ {
		set(i, '-')
	}
	set(at(iv.Low), '[')
	set(at(iv.High), ']')
	set(at(iv.Estimate), '*')
	return string(cells)
}

// hostCases is the time of each case on each host: a column a host, or a row where that is too wide.
func (p *page) hostCases(res *record.HostsResult) {
	if len(res.Cases) == 0 {
		return
	}
	p.Section("time per call, by host")
	headers := []string{"case"}
	for _, h := range res.Hosts {
		headers = append(headers, ui.Clean(h.Name))
	}
	var rows [][]string
	for _, c := range res.Cases {
		row := []string{p.Shorten(ui.Clean(c.Name), nameWidth)}
		for _, ns := range c.NSPerCall {
			if ns == nil {
				row = append(row, p.None)
			} else {
				row = append(row, p.Interval(*ns))
			}
		}
		rows = append(rows, row)
	}
	if ui.TableWidth(headers, rows) <= p.Options.Width {
		p.Table(headers, rows)
		return
	}
	var long [][]string
	for _, row := range rows {
		for i, text := range row[1:] {
			long = append(long, []string{row[0], p.Shorten(headers[i+1], nameWidth), text})
			row[0] = ""
		}
	}
	p.Table([]string{"case", "host", "time"}, long, 1)
}
