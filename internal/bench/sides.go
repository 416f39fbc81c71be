package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
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
			all = append(all, &state{planned: p, options: &side.Options, located: map[int]float64{}})
		}
	}
	nameApart(all)
	if err := r.group(all); err != nil {
		return err
	}
	number := 0
	for _, g := range r.groups {
		for _, s := range g.states {
			s.Case.Case = number
			number++
			if err := r.add(s.Case); err != nil {
				return err
			}
		}
	}
	return nil
}

// group puts the cases that are compared together. What has no partner on the other sides
// is left out, and a case that is the only one stands alone.
func (r *run) group(all []*state) error {
	var rows []*row
	if r.Comparing != nil {
		r.rows = len(stat.Rows(linesOf(all)))
		rows = r.rowsOf(all)
	}
	grouped := map[*state]*group{}
	for _, row := range rows {
		g := grouped[row.a]
		if g == nil {
			g = &group{states: []*state{row.a}}
			grouped[row.a] = g
			r.groups = append(r.groups, g)
		}
		g.states, g.rows = append(g.states, row.b), append(g.rows, row)
		grouped[row.b] = g
	}
	several := len(r.Sides) > 1
	if several && len(rows) == 0 {
		return nothingPairs(all)
	}
	for _, s := range all {
		switch {
		case grouped[s] != nil:
		case several:
			r.Note(fmt.Sprintf("%s has no partner on the other side: not compared", s.Name))
		default:
			r.groups = append(r.groups, &group{states: []*state{s}})
		}
	}
	return nil
}

// rowsOf pairs the cases that have not failed.
func (r *run) rowsOf(states []*state) (rows []*row) {
	of := map[int]*state{}
	var sound []*state
	for _, s := range states {
		if !s.failed {
			sound, of[s.Case.Case] = append(sound, s), s
		}
	}
	for _, pair := range stat.Rows(linesOf(sound)) {
		rows = append(rows, &row{
			a: of[pair.A.Case], b: of[pair.B.Case],
			judge: stat.RowJudge{Judge: stat.Judge{Comparing: *r.Comparing, Rows: r.rows}},
		})
	}
	return rows
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
			s.Name = stat.SideName(s.Name, s.Side)
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
