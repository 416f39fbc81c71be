package bench

import (
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/stat/quiet"
	"github.com/moonlap/moonlap/internal/stat/sequential"
	"github.com/moonlap/moonlap/internal/stat/whole"
)

// A figure is a number by which cases are compared while they are measured: of the workers of a
// process, false where the process does not count.
type figure struct {
	of    func(workers []*record.ProcessRecord, best quiet.Best) (ns float64, disturbed, ok bool)
	turns *sequential.Turns
}

// figuresOf are the figures of cases; the first is what a case takes. Whole commands have several.
func figuresOf(rule *record.Comparing, cases []record.Case) (figures []figure) {
	if len(cases) == 0 || cases[0].Runtime != record.KindCommand {
		return []figure{{of: location, turns: sequential.NewTurns(rule, cases)}}
	}
	kinds := whole.Figures(cases)
	for i, kind := range kinds {
		f := figure{of: func(runs []*record.ProcessRecord, best quiet.Best) (ns float64, disturbed, ok bool) {
			_, disturbed, _ = stat.Location(runs[0], best)
			ns, ok = kind.Of(runs[0])
			return ns, disturbed, ok
		}}
		if rule == nil {
			f.turns = sequential.NewTurns(nil, cases)
		} else {
			f.turns = sequential.NewTurns(&whole.Rules(*rule, len(kinds))[i], cases)
		}
		figures = append(figures, f)
	}
	return figures
}

// location is what a process found, the mean of its workers. Workers that run at once disturb each other, and that is part
// of what they find.
func location(workers []*record.ProcessRecord, best quiet.Best) (ns float64, disturbed, ok bool) {
	if len(workers) > 1 {
		best = nil
	}
	var sum, count float64
	for _, p := range workers {
		if p.Finish == nil {
			continue
		}
		if ns, slowed, ok := stat.Location(p, best); ok {
			sum, count, disturbed = sum+ns, count+1, slowed
		}
	}
	return sum / count, disturbed, count > 0
}

// locate takes note of what a process of a case took in a round.
func (r *run) locate(s *state, process, round int) {
	var workers []*record.ProcessRecord
	for _, p := range r.record.Of(s.Case.Case) {
		if p.Process.Process == process {
			workers = append(workers, p)
			r.yardsticks.Add(p)
		}
	}
	if len(workers) == 0 {
		return
	}
	for i, f := range r.figures {
		ns, disturbed, ok := f.of(workers, r.yardsticks.Best())
		if ok {
			s.located[i][round], s.slowed[round] = ns, disturbed
		}
		if ok && !disturbed && i == 0 {
			s.quiet[round] = ns
		}
	}
}

// open reports whether a comparison of a case needs more rounds, and whether it has one.
func (r *run) open(number int) (open, compared bool) {
	for _, f := range r.figures {
		o, c := f.turns.Open(number)
		open, compared = open || o, compared || c
	}
	return open, compared
}
