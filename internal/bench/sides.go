package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/sequential"
)

// plan lists every side's cases and groups those that are compared.
func (r *run) plan(ctx context.Context) error {
	var all []*state
	for i := range r.Sides {
		side := &r.Sides[i]
		cases, err := side.plan(ctx)
		if err != nil {
			return ofSide(err, side.Name)
		}
		for _, p := range cases {
			p.Side, p.Commit = side.Name, side.Commit
			p.Case.Case = len(all)
			all = append(all, &state{planned: p, options: &side.Options})
		}
		addTwins(&side.Options, all[len(all)-len(cases):])
	}
	nameApart(all)
	if err := r.group(all); err != nil {
		return err
	}
	for _, s := range r.states() {
		if err := r.add(s.Case); err != nil {
			return err
		}
	}
	return nil
}

// group puts the cases that are compared together, and numbers them. What has no partner
// on the other sides is left out; of a single side it stands alone.
func (r *run) group(all []*state) error {
	var rows []sequential.Row
	if r.Comparing != nil {
		rows = sequential.Rows(linesOf(all))
	}
	if len(r.Sides) > 1 && len(rows) == 0 {
		return nothingPairs(all)
	}
	groups := map[int]*group{} // by number of a case
	for _, row := range rows {
		a, b := row.A.Case, row.B.Case
		if groups[a] == nil {
			groups[a] = &group{states: all[a : a+1 : a+1]}
			r.groups = append(r.groups, groups[a])
		}
		groups[a].states = append(groups[a].states, all[b])
		groups[b] = groups[a]
	}
	for i, s := range all {
		switch {
		case groups[i] != nil:
		case len(r.Sides) > 1:
			r.Note(fmt.Sprintf("%s has no partner on the other side: not compared", s.Name))
		default:
			r.groups = append(r.groups, &group{states: []*state{s}})
		}
	}
	states := r.states()
	for i, s := range states {
		s.Case.Case = i
	}
	r.figures = figuresOf(r.Comparing, linesOf(states))
	for _, s := range states {
		s.quiet, s.slowed = map[int]float64{}, map[int]bool{}
		for range r.figures {
			s.located = append(s.located, map[int]float64{})
		}
	}
	return nil
}

func linesOf(states []*state) (lines []record.Case) {
	for _, s := range states {
		lines = append(lines, s.Case)
	}
	return lines
}

// nameApart puts the side behind a name that several cases of the record would have.
func nameApart(all []*state) {
	count := map[string]int{}
	for _, s := range all {
		count[s.Name]++
	}
	for _, s := range all {
		if count[s.Name] > 1 {
			s.Name = sequential.SideName(s.Name, s.Side)
		}
	}
}

func nothingPairs(all []*state) error {
	var sides, texts []string
	names := map[string][]string{}
	for _, s := range all {
		if !slices.Contains(sides, s.Side) {
			sides = append(sides, s.Side)
		}
		names[s.Side] = append(names[s.Side], s.Name)
	}
	for _, side := range sides {
		texts = append(texts, fmt.Sprintf("%s has %s", side, strings.Join(names[side], ", ")))
	}
	return fmt.Errorf("no case to compare: %s; cases pair by name, or where each side has a single one (--filter)",
		strings.Join(texts, "; "))
}

// ofSide puts the side, where there are several, before an error's text.
func ofSide(err error, side string) error {
	if side == "" {
		return err
	}
	if plan, ok := err.(*PlanError); ok {
		return &PlanError{Side: side, Fault: plan.Fault, Exit: plan.Exit}
	}
	return fmt.Errorf("%s: %w", side, err)
}
