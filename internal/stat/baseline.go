package stat

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/record"
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
		c.Pairs, c.Processes = 0, []int{len(then), len(now)}
		c.A, c.B = sequential.SideName(p.a.Name, b.Name), p.b.Name
		for _, w := range ofBoth(p.a, p.b) {
			if w.Code == "modes" { // compareLocations has told the others
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
			Code:   "not_in_turns",
			Text:   fmt.Sprintf("the baseline %s was measured at %s%s, not interleaved with this run: what the machine did then and now is in the ratios", b.Name, b.Started, atCommit(b.Commit)),
			Advice: "trust small differences only when both take turns: moonlap compare --rev",
		})
	}
	return comparisons, warnings
}

func atCommit(commit string) string {
	if commit == "" {
		return ""
	}
	return " at commit " + commit[:min(8, len(commit))]
}
