package whole

import (
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/stat/quiet"
	"github.com/moonlap/moonlap/internal/stat/sequential"
)

// A Figure is a number by which commands are compared: the sum of some kinds of batches, less that of
// others.
type Figure struct{ plus, minus []string }

// Figures are those by which commands are compared: like with like, so the times without start-up
// only where every command has a twin. The first is that of the gate.
func Figures(cases []record.Case) []Figure {
	wall, cpu := []string{record.Measure}, []string{record.User, record.System}
	if slices.ContainsFunc(cases, func(c record.Case) bool { return c.Params[record.EmptyParam] == nil }) {
		return []Figure{{plus: wall}, {plus: cpu}}
	}
	return []Figure{
		{wall, []string{record.Empty}}, {plus: wall}, {cpu, []string{record.EmptyUser, record.EmptySystem}},
	}
}

// Of is the figure of a run; false where the run does not count.
func (f Figure) Of(p *record.ProcessRecord) (ns float64, ok bool) {
	values := each(measured([]*record.ProcessRecord{p}), f.plus, f.minus)
	if len(values) == 0 {
		return 0, false
	}
	return values[0], true
}

// Rules are those of N figures, whose intervals hold together as the run's rule says. The
// gate is the first one's.
func Rules(whole record.Comparing, figures int) []record.Comparing {
	whole.Level = 1 - (1-whole.Level)/float64(figures)
	rules := slices.Repeat([]record.Comparing{whole}, figures)
	for i := range rules[1:] {
		rules[i+1].FailIfSlower = 0
	}
	return rules
}

// compare compares with the first command that did not fail: the wall time without
// start-up, the whole wall time where that is another, and the CPU time.
func compare(rec *record.Record, res *record.CommandResults) {
	if rec.Run.Comparing == nil {
		return
	}
	figures := Figures(rec.Cases)
	var judged [][]record.Comparison
	known := quiet.Along(rec)
	for i, rule := range Rules(*rec.Run.Comparing, len(figures)) {
		comparisons := sequential.JudgeTurns(rec, rule, func(c record.Case) (map[int]float64, map[int]bool) {
			located, slowed := map[int]float64{}, map[int]bool{}
			for _, p := range rec.Of(c.Case) {
				if ns, ok := figures[i].Of(p); ok {
					_, disturbed, _ := stat.Location(p, known[p])
					located[p.Process.Round], slowed[p.Process.Round] = ns, disturbed
				}
			}
			return located, slowed
		})
		adviseAtZero(comparisons)
		judged = append(judged, comparisons)
	}
	res.Comparisons, res.CPU = judged[0], judged[len(judged)-1]
	if len(judged) > 2 {
		res.Whole = judged[1]
	}
}

func adviseAtZero(list []record.Comparison) {
	for i := range list {
		for k := range list[i].Warnings {
			if w := &list[i].Warnings[k]; w.Code == "at_zero" {
				w.Text = "too many runs took no longer than the empty twin: without start-up there is no ratio"
				w.Advice = "compare the whole commands, or give them more to do"
			}
		}
	}
}
