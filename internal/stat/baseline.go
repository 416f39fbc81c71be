package stat

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/quiet"
	"github.com/moonlap/moonlap/internal/stat/sequential"
)

// A Baseline is an earlier run that another is compared with.
type Baseline struct {
	Name    string
	Started string // RFC 3339
	Commit  string
	Results *record.Results
	// Elsewhere are the differences between the settings of the two runs, by case: machine,
	// VM, environment. Empty where the runs may be compared.
	Elsewhere map[string][]record.Difference
}

// Against compares the cases of a run with those of the same name in the baseline, by the
// ratio of their process locations (see [RatioInterval]); cases that either side lacks are
// left out. With several cases each interval is wider, so that all hold together. The
// processes of the two runs did not take turns, so what the machine did at either time is
// in the ratio: the warnings say so, and name each case that the baseline lacks.
func (b Baseline) Against(res *record.Results, rule record.Comparing) (comparisons []record.Comparison, warnings []record.Warning) {
	type pair struct{ a, b *record.CaseResult }
	var pairs []pair
	for i := range res.Cases {
		if a := caseNamed(b.Results, res.Cases[i].Name); a != nil {
			pairs = append(pairs, pair{a, &res.Cases[i]})
			continue
		}
		warnings = append(warnings, record.Warning{
			Code: "no_baseline", Text: fmt.Sprintf("the baseline %s has no case %s", b.Name, res.Cases[i].Name),
			Advice: fmt.Sprintf("measure it too before the change, with --save %s", b.Name),
		})
	}
	how := Comparing{Level: 1 - (1-rule.Level)/float64(max(1, len(pairs))), Margin: rule.MinEffect}
	for _, p := range pairs {
		then, now := steadyLocations(p.a), steadyLocations(p.b)
		c := compareLocations(then, now, how)
		if len(c.Warnings) == 0 {
			how.allow(&c, machine{b.Results.Yardsticks, p.a}, machine{res.Yardsticks, p.b})
		}
		c.Pairs, c.Processes = 0, []int{len(then), len(now)}
		c.A, c.B = sequential.SideName(p.a.Name, b.Name), p.b.Name
		for _, w := range ofBoth(p.a, p.b) {
			if w.Code == "modes" { // compareLocations has reported the others
				c.Warnings = append(c.Warnings, w)
			}
		}
		c.Differences = differences(p.a, p.b)
		if elsewhere := b.Elsewhere[p.b.Name]; len(elsewhere) > 0 {
			c.Differences = append(elsewhere, c.Differences...)
			c.Warnings = append(c.Warnings, record.Warning{
				Code: "elsewhere", Text: "the baseline was not measured under this run's conditions: the ratio is of both, code and conditions",
				Advice: fmt.Sprintf("measure the baseline again here, with --save %s", b.Name),
			})
		}
		comparisons = append(comparisons, c)
	}
	if len(pairs) > 0 {
		warnings = append(warnings, record.Warning{
			Code:   "not_interleaved",
			Text:   fmt.Sprintf("the baseline %s was measured at %s%s, not interleaved with this run: what the machine did then and now is in the ratios", b.Name, b.Started, atCommit(b.Commit)),
			Advice: "trust small differences only of interleaved runs: moonlap compare --rev",
		})
	}
	return comparisons, warnings
}

// A machine is what yardsticks said of one while a case was measured.
type machine struct {
	best  map[string]float64 // that is known of each kind, ns
	found *record.CaseResult
}

func (m machine) slowed() float64 { return m.found.Slowed() }

const sameSpeed = quiet.SameSpeed

// allow makes room in the interval of a ratio for what the machine was then and is now: a case that something slowed
// would take less, and on a machine of another speed the case may follow each of the yardsticks, or none.
func (how Comparing) allow(c *record.Comparison, then, now machine) {
	iv := c.Ratio
	iv.High *= 1 + then.slowed()
	iv.Low /= 1 + now.slowed()
	slowest, fastest := 1.0, 1.0
	for kind, ns := range now.best {
		if before := then.best[kind]; before > 0 && ns > 0 {
			slowest, fastest = max(slowest, ns/before), min(fastest, ns/before)
		}
	}
	if slowest > 1+sameSpeed || fastest < 1/(1+sameSpeed) {
		iv.Low, iv.High = iv.Low/slowest, iv.High/fastest
		c.Warnings = append(c.Warnings, record.Warning{
			Code: "another_speed",
			Text: fmt.Sprintf("the machine runs at another speed than then: its yardsticks take %s as long; the interval leaves room for that",
				times(fastest, slowest)),
			Advice: "measure the baseline again here, or both sides interleaved: moonlap compare --rev",
		})
	}
	if then.slowed() > 0 || now.slowed() > 0 {
		c.Warnings = append(c.Warnings, record.Warning{
			Code:   "disturbed",
			Text:   fmt.Sprintf("something else slowed this machine%s; the interval leaves room for that", whichRun(then, now)),
			Advice: "measure again at another time, or with --wait-quiet 2m",
		})
	}
	if iv != c.Ratio {
		how.conclude(c, iv)
	}
}

// times are the factors that matter of two, of which one is at most 1 and the other at least.
func times(fastest, slowest float64) string {
	switch {
	case slowest <= 1+sameSpeed:
		return fmt.Sprintf("%.2f times", fastest)
	case fastest >= 1/(1+sameSpeed):
		return fmt.Sprintf("%.2f times", slowest)
	}
	return fmt.Sprintf("%.2f to %.2f times", fastest, slowest)
}

func whichRun(then, now machine) string {
	switch {
	case then.slowed() == 0:
		return " while this run was measured"
	case now.slowed() == 0:
		return " while the baseline was measured"
	}
	return " while either run was measured"
}

func atCommit(commit string) string {
	if commit == "" {
		return ""
	}
	return " at commit " + commit[:min(8, len(commit))]
}
