package stat

import (
	"errors"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/sequential"
)

// Comparing says how runs are compared that did not take turns: see [Judge] for those that
// did.
type Comparing struct {
	// Level is that of all intervals together; 0 means [Level].
	Level float64
	// Margin is the relative difference that does not matter: 0.01 is 1 %, and what 0
	// means. An interval of the ratio inside it is "no measurable difference".
	Margin float64
}

func caseNamed(res *record.Results, name string) *record.CaseResult {
	for i := range res.Cases {
		if res.Cases[i].Name == name {
			return &res.Cases[i]
		}
	}
	return nil
}

// steadyLocations are the locations of a case's processes that count, one a process:
// the mean of its workers. Those that had no quiet moment do not count where the figure is without them.
func steadyLocations(c *record.CaseResult) []float64 {
	if c.NSPerCall == nil {
		return nil
	}
	var order []int
	sum, workers, left := map[int]float64{}, map[int]float64{}, map[int]bool{}
	for _, p := range c.PerProcess {
		if workers[p.Process] == 0 {
			order = append(order, p.Process)
		}
		sum[p.Process] += p.NS
		workers[p.Process]++
		left[p.Process] = left[p.Process] || p.Steady == record.SteadyNone || p.Disturbed && c.Quiet != nil && !c.Quiet.Disturbed
	}
	var locations []float64
	for _, process := range order {
		if !left[process] {
			locations = append(locations, sum[process]/workers[process])
		}
	}
	return locations
}

// compareLocations compares two sets of process locations, by their ratio with an interval
// (see [RatioInterval]). A verdict is a statement about the interval, never the outcome of
// a failed test: slower or faster when it lies on one side of 1; no measurable difference
// when it lies inside the margin; undecided otherwise.
func compareLocations(a, b []float64, how Comparing) record.Comparison {
	c := record.Comparison{Verdict: record.Undecided, Pairs: min(len(a), len(b))}
	iv, warnings, err := estimate.RatioInterval(a, b, how.Level)
	c.Warnings = warnings
	switch {
	case errors.Is(err, estimate.ErrNotPositive):
		c.Warnings = append(c.Warnings, record.Warning{
			Code: "at_zero", Text: "a process took no more time than its empty twin: there is no ratio",
			Advice: "see that the work is not removed by the compiler, with moonlap.keep(x)",
		})
		return c
	case err != nil:
		c.Warnings = append(c.Warnings, record.Warning{
			Code: "no_figure", Text: "one of the cases has no figure", Advice: "see its own warnings",
		})
		return c
	}
	if len(warnings) > 0 { // the interval covers less than it should: no verdict from it
		c.Ratio = record.WithoutInterval(iv.Estimate)
		return c
	}
	how.conclude(&c, iv)
	return c
}

// conclude gives a comparison its interval and the verdict that follows.
func (how Comparing) conclude(c *record.Comparison, iv record.Interval) {
	c.Ratio, c.Smallest, c.Verdict = iv, sequential.SmallestSeen(iv), record.Undecided
	switch {
	case iv.Low > 1/(1+how.Margin) && iv.High < 1+how.Margin:
		c.Verdict = record.NoDifference
	case iv.Low > 1:
		c.Verdict = record.Slower
	case iv.High < 1:
		c.Verdict = record.Faster
	}
}
