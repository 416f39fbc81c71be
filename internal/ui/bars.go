package ui

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/moonlap/moonlap/internal/record"
)

const (
	mostBars  = 12 // more bins are merged
	mostSigns = 40 // of a shape
	longest   = 60 // columns of a bar
)

// A bar is one row of a histogram.
type bar struct {
	low      float64 // ns
	count    int64
	overflow bool // everything from low on
	gap      bool // several empty bins
}

// Bars draws the histogram of a case: where its batches or laps lie.
func (p *Page) Bars(bins []record.Bin) {
	rows := barsOf(bins)
	if len(rows) == 0 || p.Options.Markdown {
		return
	}
	labels := p.barLabels(rows)
	labelW, countW := 0, 0
	most := int64(1)
	for i, r := range rows {
		labelW = max(labelW, lipgloss.Width(labels[i]))
		countW = max(countW, len(Count(r.count)))
		most = max(most, r.count)
	}
	labelW = max(labelW, labelWidth)
	width := min(longest, p.Options.Width-labelW-countW-4)
	p.Blank()
	for i, r := range rows {
		label := strings.Repeat(" ", labelW-lipgloss.Width(labels[i])) + labels[i]
		if r.gap {
			p.Line(p.Faint.Render(label))
			continue
		}
		n := Count(r.count)
		n = strings.Repeat(" ", countW-len(n)) + n
		line := label + "  " + p.Faint.Render(n)
		if r.count > 0 {
			line += "  " + p.Bar.Render(p.drawBar(float64(r.count)/float64(most), width))
		}
		p.Line(line)
	}
}

// drawBar fills a share of width, in eighths of a column where there are such signs.
// What is not empty is never drawn as empty.
func (g Glyphs) drawBar(share float64, width int) string {
	steps := len(g.bars)
	n := int(math.Round(share * float64(width*steps)))
	if n == 0 && share > 0 {
		n = 1
	}
	s := strings.Repeat(g.bars[steps-1], n/steps)
	if rest := n % steps; rest > 0 {
		s += g.bars[rest-1]
	}
	return s
}

// Shape draws the histogram in one line: a sign for each bin, from the shortest time to the longest.
func (p *Page) Shape(bins []record.Bin) string {
	rows := merged(bins, mostSigns)
	if len(rows) < 2 {
		return ""
	}
	most, course := 1.0, []float64{}
	for _, r := range rows {
		course = append(course, float64(r.count))
		most = max(most, float64(r.count))
	}
	labels := p.barLabels([]bar{rows[0], rows[len(rows)-1]})
	return labels[0] + p.Spark(course, most) + " " + labels[1]
}

// barsOf makes at most mostBars rows out of bins, and one gap of runs of empty ones.
func barsOf(bins []record.Bin) []bar { return foldGaps(merged(bins, mostBars)) }

// merged makes at most so many rows out of bins, and the overflow: neighbours are merged, and a last bin much wider than the others
// becomes the overflow.
func merged(bins []record.Bin, most int) []bar {
	bins = slices.DeleteFunc(slices.Clone(bins), func(b record.Bin) bool {
		return !Finite(b.Low) || b.Count < 0
	})
	var over *bar
	if n := len(bins); isOverflow(bins) {
		over = &bar{low: bins[n-1].Low, count: bins[n-1].Count, overflow: true}
		bins = bins[:n-1]
	}
	each := (len(bins) + most - 1) / most
	var rows []bar
	for i := 0; i < len(bins); i += each {
		row := bar{low: bins[i].Low}
		for _, b := range bins[i:min(i+each, len(bins))] {
			row.count += b.Count
		}
		rows = append(rows, row)
	}
	if over != nil {
		rows = append(rows, *over)
	}
	return rows
}

// isOverflow: the last bin has no end, or is far wider than those before it, even
// where these grow by a constant factor.
func isOverflow(bins []record.Bin) bool {
	n := len(bins)
	if n < 2 {
		return false
	}
	width := func(i int) float64 { return bins[i].High - bins[i].Low }
	last, before := width(n-1), width(n-2)
	if last <= 0 {
		return true
	}
	growth := 1.0
	if n > 2 && width(n-3) > 0 {
		growth = math.Max(1, before/width(n-3))
	}
	return last > 2*before*growth
}

// foldGaps replaces three and more empty rows in a row by one.
func foldGaps(rows []bar) []bar {
	var out []bar
	for i := 0; i < len(rows); {
		end := i
		for end < len(rows) && rows[end].count == 0 {
			end++
		}
		switch {
		case end-i >= 3:
			out = append(out, bar{gap: true})
			i = end
		default:
			out = append(out, rows[i])
			i++
		}
	}
	return out
}

// barLabels are the rows' lower ends. They share a unit and have as many decimals as
// it takes to tell them apart, unless the range is so wide that three digits do.
func (p *Page) barLabels(rows []bar) []string {
	labels := make([]string, len(rows))
	distinct := func(format func(ns float64) string) bool {
		seen := map[string]bool{}
		for i, r := range rows {
			if r.gap {
				labels[i] = p.gap
				continue
			}
			s := format(r.low)
			if seen[s] {
				return false
			}
			seen[s] = true
			if r.overflow {
				s = p.AtLeast + s
			}
			labels[i] = s
		}
		return true
	}
	if distinct(p.Time) {
		return labels
	}
	s := pick(timeScales, rows[len(rows)-1].low)
	for decimals := range 6 {
		if distinct(func(ns float64) string { return p.unitOf(Fixed(ns/s.per, decimals), s) }) {
			return labels
		}
	}
	distinct(func(ns float64) string { return fmt.Sprintf("%v ns", ns) })
	return labels
}
