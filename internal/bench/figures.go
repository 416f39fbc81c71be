package bench

import (
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/stat/sequential"
	"github.com/moonlap/moonlap/internal/stat/whole"
)

// A figure is a number by which cases are compared while they are measured: of the workers of a
// process, false where the process does not count.
type figure struct {
	of    func(workers []*record.ProcessRecord) (ns float64, ok bool)
	turns *sequential.Turns
}

// figuresOf are the figures of cases; the first is what a case takes. Whole commands have several.
func figuresOf(rule *record.Comparing, cases []record.Case) (figures []figure) {
	if len(cases) == 0 || cases[0].Runtime != record.KindCommand {
		return []figure{{of: location, turns: sequential.NewTurns(rule, cases)}}
	}
	kinds := whole.Figures(cases)
	for i, kind := range kinds {
		f := figure{of: func(runs []*record.ProcessRecord) (float64, bool) { return kind.Of(runs[0]) }}
		if rule == nil {
			f.turns = sequential.NewTurns(nil, cases)
		} else {
			f.turns = sequential.NewTurns(&whole.Rules(*rule, len(kinds))[i], cases)
		}
		figures = append(figures, f)
	}
	return figures
}

// location is what a process found, the mean of its workers.
func location(workers []*record.ProcessRecord) (ns float64, ok bool) {
	var sum, count float64
	for _, p := range workers {
		if p.Finish == nil {
			continue
		}
		if ns, ok := stat.Location(p); ok {
			sum, count = sum+ns, count+1
		}
	}
	return sum / count, count > 0
}

// locate takes note of what a process of a case took in a round.
func (r *run) locate(s *state, process, round int) {
	var workers []*record.ProcessRecord
	for _, p := range r.record.Of(s.Case.Case) {
		if p.Process.Process == process {
			workers = append(workers, p)
		}
	}
	if len(workers) == 0 {
		return
	}
	for i, f := range r.figures {
		if ns, ok := f.of(workers); ok {
			s.located[i][round] = ns
		}
	}
	r.yardsticks.Add(workers[0])
	if ns, ok := stat.QuietLocation(workers[0], r.yardsticks.Best()); ok && workers[0].Finish != nil {
		s.quiet[round] = ns
	}
}

// figureOf are what the processes of a case found that its figure will be of: where yardsticks were timed, in quiet
// moments alone, so that a run goes on while there are few. Workers that run at once disturb each other.
func (r *run) figureOf(s *state) map[int]float64 {
	if len(r.yardsticks.Best()) > 0 && s.Workers <= 1 {
		return s.quiet
	}
	return s.located[0]
}

// open tells whether a comparison of a case needs more rounds, and whether it has one.
func (r *run) open(number int) (open, compared bool) {
	for _, f := range r.figures {
		o, c := f.turns.Open(number)
		open, compared = open || o, compared || c
	}
	return open, compared
}
