package command

import (
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
)

// A list compares the commands by one figure of theirs: the sum of some kinds of batches,
// less that of others.
type list struct{ plus, minus []string }

// listsOf are the figures by which commands are compared: like with like, so the times
// without start-up only where every command has a twin. The first is that of the gate.
func listsOf(cases []record.Case) []list {
	wall, cpu := []string{record.Measure}, []string{record.User, record.System}
	if slices.ContainsFunc(cases, func(c record.Case) bool { return c.Params[record.EmptyParam] == nil }) {
		return []list{{plus: wall}, {plus: cpu}}
	}
	return []list{
		{wall, []string{record.Empty}}, {plus: wall}, {cpu, []string{record.EmptyUser, record.EmptySystem}},
	}
}

// rules are those of the lists, whose intervals hold together as the run's rule says. The
// gate is the first one's.
func rules(whole record.Comparing, lists []list) []record.Comparing {
	whole.Level = 1 - (1-whole.Level)/float64(len(lists))
	rules := slices.Repeat([]record.Comparing{whole}, len(lists))
	for i := range rules[1:] {
		rules[i+1].FailIfSlower = 0
	}
	return rules
}

// add hands over the figure of each run that counts.
func (l list) add(runs []*record.ProcessRecord, add func(number, round int, ns float64)) {
	for _, p := range measured(runs) {
		for _, ns := range each([]*record.ProcessRecord{p}, l.plus, l.minus) {
			add(p.Process.Case, p.Process.Round, ns)
		}
	}
}

// compare compares with the first command that did not fail: the wall time without
// start-up, the whole wall time where that is another, and the CPU time.
func compare(rec *record.Record, res *record.CommandResults) {
	if rec.Run.Comparing == nil {
		return
	}
	lists := listsOf(rec.Cases)
	var judged [][]record.Comparison
	for i, rule := range rules(*rec.Run.Comparing, lists) {
		comparisons := stat.JudgeTurns(rec, rule, func(c record.Case) map[int]float64 {
			located := map[int]float64{}
			lists[i].add(rec.Of(c.Case), func(_, round int, ns float64) { located[round] = ns })
			return located
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

// turns follow the lists while the commands run.
type turns struct {
	lists []list
	of    []*stat.Turns
}

func newTurns(rule *record.Comparing, cases []record.Case) *turns {
	t := &turns{}
	if rule == nil {
		return t
	}
	t.lists = listsOf(cases)
	for _, rule := range rules(*rule, t.lists) {
		t.of = append(t.of, stat.NewTurns(&rule, cases))
	}
	return t
}

// look judges a round by its runs.
func (t *turns) look(round int, runs []*record.ProcessRecord) {
	for i, of := range t.of {
		t.lists[i].add(slices.Clone(runs), of.Add)
		of.Look(round)
		for _, p := range runs {
			if len(p.Faults) > 0 {
				of.Fail(p.Process.Case)
			}
		}
	}
}

// open tells whether a comparison of a command needs more rounds, and whether it has one.
func (t *turns) open(number int) (open, compared bool) {
	for _, of := range t.of {
		o, c := of.Open(number)
		open, compared = open || o, compared || c
	}
	return open, compared
}
