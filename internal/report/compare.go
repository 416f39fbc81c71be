package report

import (
	"fmt"
	"math"

	"charm.land/lipgloss/v2"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// comparisons draws each A/B in words.
func (p *page) comparisons(title string, list []record.Comparison) {
	if len(list) == 0 {
		return
	}
	p.Section(title)
	for _, c := range list {
		p.Para("  ", ui.Clean(c.B)+" against "+ui.Clean(c.A), lipgloss.NewStyle())
		p.Para("    ", p.Join(p.verdict(c), p.evidence(c)), p.styleOf(c.Verdict))
		for _, d := range c.Differences {
			p.Para("      ", p.difference(d), p.Faint)
		}
	}
}

func (p *page) styleOf(verdict string) lipgloss.Style {
	return map[string]lipgloss.Style{record.Faster: p.Good, record.Slower: p.Bad, record.Mixed: p.Bad}[verdict]
}

// verdict is what a comparison says, as of B: "1.031× slower (1.024–1.038)".
func (g *page) verdict(c record.Comparison) string {
	r := c.Ratio
	if d := c.DifferenceNS; r.Estimate == 0 && d != nil { // a side takes no time: there is no ratio
		return g.inNS(c.Verdict, *d)
	}
	switch c.Verdict {
	case record.Slower:
		return g.ratio(r) + " slower " + g.ratioRange(r)
	case record.Faster:
		r = record.Interval{Estimate: 1 / r.Estimate, Low: 1 / r.High, High: 1 / r.Low}
		return g.ratio(r) + " faster " + g.ratioRange(r)
	case record.NoDifference:
		within := math.Max(math.Abs(r.Low-1), math.Abs(r.High-1))
		return fmt.Sprintf("no measurable difference (within %s%s)", g.Within, ui.Percent(within))
	}
	for _, w := range c.Warnings {
		if w.Code == noFigureCode {
			return "no verdict: " + ui.Clean(w.Text)
		}
	}
	text := "undecided"
	if c.Needs > 0 {
		text += ": needs about " + ui.Plural(roundUp(c.Needs), "more process", "more processes")
	}
	return text + g.between(r)
}

// noFigureCode is of the warning that a side has no figure; the verdict says that, and no note again.
const noFigureCode = "no_figure"

// between are the ends of an undecided ratio: " (between 1.02× faster and 1.04× slower)". Nothing where
// there was too little for an interval.
func (g *page) between(r record.Interval) string {
	if r.Low <= 0 || r.Low >= r.High {
		return ""
	}
	return fmt.Sprintf(" (between %s and %s)", g.changeAt(r.Low, r), g.changeAt(r.High, r))
}

// inNS is a verdict of a difference in ns: "620 ns slower (616–624 ns)".
func (g *page) inNS(verdict string, d record.Interval) string {
	switch verdict {
	case record.Slower:
		return g.Time(d.Estimate) + " slower (" + g.TimeRange(d) + ")"
	case record.Faster:
		d = record.Interval{Estimate: -d.Estimate, Low: -d.High, High: -d.Low}
		return g.Time(d.Estimate) + " faster (" + g.TimeRange(d) + ")"
	case record.NoDifference:
		return "no measurable difference (within " + g.Within + g.Time(math.Max(math.Abs(d.Low), math.Abs(d.High))) + ")"
	}
	return "undecided (between " + g.changeByNS(d.Low) + " and " + g.changeByNS(d.High) + ")"
}

func (g *page) changeByNS(ns float64) string {
	switch {
	case ns > 0:
		return g.Time(ns) + " slower"
	case ns < 0:
		return g.Time(-ns) + " faster"
	}
	return "equal"
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
func (g *page) difference(d record.Difference) string {
	return ui.Clean(d.What) + ": " + ui.Clean(d.A) + " " + g.Arrow + " " + ui.Clean(d.B)
}

func (g *page) ratio(r record.Interval) string {
	return ui.Fixed(r.Estimate, ratioDecimals(r)) + g.Times
}

func (g *page) ratioRange(r record.Interval) string {
	d := ratioDecimals(r)
	return "(" + ui.Fixed(r.Low, d) + g.Dash + ui.Fixed(r.High, d) + ")"
}

// ratioDecimals follow the interval, as in [ui.Glyphs.Interval]. Where it lies beyond 1, its lower end shows that.
func ratioDecimals(r record.Interval) int {
	const most = 3
	arm := math.Max(r.High-r.Estimate, r.Estimate-r.Low)
	if !ui.Finite(arm) || arm <= 0 {
		return most
	}
	d := ui.DecimalsOf(arm)
	for r.Low > 1 && d < most && ui.Fixed(r.Low, d) == ui.Fixed(1, d) {
		d++
	}
	return d
}

// changeAt is one end of an interval, with as many digits as the interval bears and as it takes to differ from equal.
func (g *page) changeAt(end float64, of record.Interval) string {
	word, x := "slower", end
	switch {
	case end == 1:
		return "equal"
	case end < 1:
		word, x = "faster", 1/end
	}
	d := ratioDecimals(of)
	for d < 3 && ui.Fixed(x, d) == ui.Fixed(1, d) {
		d++
	}
	if ui.Fixed(x, d) == ui.Fixed(1, d) {
		return "equal"
	}
	return ui.Fixed(x, d) + g.Times + " " + word
}

// evidence says what a verdict rests on.
func (p *page) evidence(c record.Comparison) string {
	pairs := ""
	if c.Pairs > 0 {
		pairs = ui.Plural(c.Pairs, "pair of processes", "pairs of processes")
	} else if len(c.Processes) == 2 {
		pairs = fmt.Sprintf("%d against %s", c.Processes[1], ui.Plural(c.Processes[0], "process", "processes"))
	}
	return p.Join(pairs, ui.When(c.Needs == 0, smallest(c)))
}

// smallest is the difference that would have been seen, where none was.
func smallest(c record.Comparison) string {
	none := c.Verdict != record.Faster && c.Verdict != record.Slower
	return ui.When(c.Smallest > 0 && none, "would have seen "+ui.Percent(c.Smallest))
}
