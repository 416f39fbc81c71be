package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// scaling draws, for each benchmark that ran with several numbers of workers, what
// more workers gain: under contention a call takes longer, and the total grows less
// than the workers do.
func (p *page) scaling(cases []record.CaseResult) {
	for _, group := range byWorkers(cases) {
		p.Blank()
		base := group[0]
		p.Line(p.Strong.Render("workers") + p.Faint.Render(p.Dot+p.Shorten(ui.Clean(base.Case.Benchmark), p.Options.Width-20)))
		p.Table(scalingHeaders, p.scalingRows(group))
		p.Para("  ", fmt.Sprintf("efficiency: the gain per worker against %s; 100 %% is perfect scaling.",
			ui.Plural(workersOf(base), "worker", "workers")), p.Faint)
	}
}

var scalingHeaders = []string{"workers", "time per call, each", "calls/s in total", "efficiency"}

func (g *page) scalingRows(group []record.CaseResult) [][]string {
	base := group[0].NSPerCall
	var rows [][]string
	for _, c := range group {
		row := []string{strconv.Itoa(workersOf(c)), noFigure(c), g.None, g.None}
		if d := c.NSPerCall; d != nil && d.Estimate > 0 {
			row[1] = g.Interval(d.Interval)
			row[2] = g.Rate(float64(workersOf(c)) * 1e9 / d.Estimate)
			if base != nil {
				row[3] = ui.Percent(base.Estimate / d.Estimate)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// byWorkers groups the cases that differ only in their number of workers, each group
// with the fewest first.
func byWorkers(cases []record.CaseResult) [][]record.CaseResult {
	groups := map[string][]record.CaseResult{}
	var order []string
	for _, c := range cases {
		k := workersKey(c.Case)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], c)
	}
	var out [][]record.CaseResult
	for _, k := range order {
		g := groups[k]
		slices.SortStableFunc(g, func(a, b record.CaseResult) int { return workersOf(a) - workersOf(b) })
		if len(g) > 1 && workersOf(g[0]) != workersOf(g[len(g)-1]) {
			out = append(out, g)
		}
	}
	return out
}

// workersKey is equal for cases that differ in nothing but their workers. A parameter
// of that name, which a plan may use to tell them apart, does not count either.
func workersKey(c record.Case) string {
	params := maps.Clone(c.Params)
	delete(params, "workers")
	b, err := json.Marshal([]any{c.Benchmark, params, c.Runtime, c.Phase, c.GC, c.Concurrency, c.Rate, c.File})
	if err != nil { // a parameter that is no JSON: such cases stay alone
		return c.Name
	}
	return string(b)
}

func workersOf(c record.CaseResult) int { return max(1, c.Case.Workers) }
