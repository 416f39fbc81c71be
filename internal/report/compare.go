package report

import (
	"fmt"
	"math"

	"charm.land/lipgloss/v2"
	"github.com/moonlap/moonlap/internal/record"
)

// comparisons draws each A/B in words.
func (p *page) comparisons(list []record.Comparison) {
	if len(list) == 0 {
		return
	}
	p.section("comparisons")
	for _, c := range list {
		p.para("  ", clean(c.B)+" against "+clean(c.A), lipgloss.NewStyle())
		style := map[string]lipgloss.Style{record.Faster: p.good, record.Slower: p.bad}[c.Verdict]
		p.para("    ", p.join(p.verdict(c), p.evidence(c)), style)
		for _, d := range c.Differences {
			p.para("      ", p.difference(d), p.faint)
		}
	}
}

// verdict is what a comparison says, as of B: "1.031× slower (1.024–1.038)".
func (g glyphs) verdict(c record.Comparison) string {
	r := c.Ratio
	switch c.Verdict {
	case record.Slower:
		return g.ratio(r) + " slower " + g.ratioRange(r)
	case record.Faster:
		r = record.Interval{Estimate: 1 / r.Estimate, Low: 1 / r.High, High: 1 / r.Low}
		return g.ratio(r) + " faster " + g.ratioRange(r)
	case record.NoDifference:
		within := math.Max(math.Abs(r.Low-1), math.Abs(r.High-1))
		return fmt.Sprintf("no measurable difference (within %s%s)", g.within, percent(within))
	}
	text := "undecided"
	if c.Needs > 0 {
		text += ": needs about " + plural(roundUp(c.Needs), "more process", "more processes")
	}
	switch {
	case r.Estimate == 0:
		return text
	case r.Low < r.Estimate && r.Estimate < r.High:
		return fmt.Sprintf("%s (between %s and %s)", text, change(r.Low), change(r.High))
	}
	return text
}

// roundUp gives a rough number as few digits as it deserves.
func roundUp(n int) int {
	step := 1
	for n > 20*step {
		step *= 10
	}
	return (n + step - 1) / step * step
}

// difference is what else differs between the sides: "side traces 1 → 4".
func (g glyphs) difference(d record.Difference) string {
	return clean(d.What) + ": " + clean(d.A) + " " + g.arrow + " " + clean(d.B)
}

func (g glyphs) ratio(r record.Interval) string {
	return fixed(r.Estimate, ratioDecimals(r)) + g.times
}

func (g glyphs) ratioRange(r record.Interval) string {
	d := ratioDecimals(r)
	return "(" + fixed(r.Low, d) + g.dash + fixed(r.High, d) + ")"
}

// ratioDecimals follow the interval, as in [glyphs.interval].
func ratioDecimals(r record.Interval) int {
	arm := math.Max(r.High-r.Estimate, r.Estimate-r.Low)
	if !finite(arm) || arm <= 0 {
		return 3
	}
	return decimalsOf(arm)
}

func change(ratio float64) string {
	switch {
	case ratio > 1:
		return percent(ratio-1) + " slower"
	case ratio < 1:
		return percent(1-ratio) + " faster"
	}
	return "equal"
}

// evidence says what a verdict rests on.
func (p *page) evidence(c record.Comparison) string {
	pairs, smallest := "", ""
	if c.Pairs > 0 {
		pairs = plural(c.Pairs, "pair of processes", "pairs of processes")
	} else if len(c.Processes) == 2 {
		pairs = fmt.Sprintf("%d against %s", c.Processes[1], plural(c.Processes[0], "process", "processes"))
	}
	if c.Smallest > 0 && c.Needs == 0 && c.Verdict != record.Faster && c.Verdict != record.Slower {
		smallest = "would have seen " + percent(c.Smallest)
	}
	return p.join(pairs, smallest)
}
