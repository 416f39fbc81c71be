package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
)

// A Side is one of the things compared: what to measure, where, and what it is called.
type Side struct {
	Name   string
	Commit string // revision that it was checked out at
	Options
}

// Comparison says what to compare and for how long.
type Comparison struct {
	Sides     []Side
	Comparing record.Comparing
	Time      time.Duration // budget a case and side
	Seed      uint64
	// Note is told what will not be compared.
	Note func(string)
}

// Compare measures sides in turns: every round runs each case of every side in a fresh
// process. The processes of a case stand side by side, in an order that is random in one
// round and reversed in the next, and share the round's seed, so that neither the state of
// the machine nor the draw favours a side. A pair of cases ends when it is decided (see
// [stat.Judge]) or its time is spent.
//
// The rest is as in [Run]; a [*PlanError] tells the side in its text.
func Compare(ctx context.Context, c Comparison, opening record.Run, write func(record.Line) error,
	progress func(Progress)) (*record.Record, error) {
	r := &run{
		options: Options{Time: c.Time, Processes: c.Comparing.Processes, Seed: c.Seed},
		write:   write, progress: progress, started: time.Now(),
		random: rand.New(rand.NewPCG(c.Seed, 0)), record: &record.Record{},
	}
	opening.Comparing = &c.Comparing
	err := (&comparison{run: r, Comparison: c}).whole(ctx, opening)
	return r.record, err
}

// A comparison is a run whose cases stand in groups.
type comparison struct {
	*run
	Comparison
	groups []*group
}

// A group is a case with its partners on the other sides.
type group struct {
	states []*state // by side, the first is what the others are compared with
	rows   []*row
	order  []*state // of the last round
}

// A row compares the group's first case with another.
type row struct {
	b     *state
	judge stat.RowJudge
	done  bool
}

func (c *comparison) whole(ctx context.Context, opening record.Run) error {
	if err := c.add(opening); err != nil {
		return err
	}
	if err := c.add(c.Sides[0].Runtime); err != nil {
		return err
	}
	if err := c.plan(ctx); err != nil {
		return err
	}
	return c.end(ctx, c.rounds(ctx))
}

// plan lists every side's cases and groups those that have partners.
func (c *comparison) plan(ctx context.Context) error {
	var all []*state
	var lines []record.Case
	for i := range c.Sides {
		side := &c.Sides[i]
		cases, err := side.plan(ctx)
		if err != nil {
			return ofSide(err, side.Name)
		}
		for _, p := range cases {
			p.Side, p.Commit = side.Name, side.Commit
			p.Case.Case = len(all)
			all = append(all, &state{planned: p, options: &side.Options})
		}
	}
	nameApart(all)
	for _, s := range all {
		lines = append(lines, s.Case)
	}
	rows := stat.Rows(lines)
	if len(rows) == 0 {
		return c.nothingPairs(lines)
	}
	partner := map[int]bool{}
	for _, pair := range rows {
		c.addRow(all[pair.A.Case], all[pair.B.Case], len(rows))
		partner[pair.A.Case], partner[pair.B.Case] = true, true
	}
	for _, line := range lines {
		if !partner[line.Case] {
			c.Note(fmt.Sprintf("%s has no partner on the other side: not compared", line.Name))
		}
	}
	for _, g := range c.groups {
		for _, s := range g.states {
			s.Case.Case = len(c.states)
			c.states = append(c.states, s)
			if err := c.add(s.Case); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *comparison) addRow(a, b *state, rows int) {
	i := slices.IndexFunc(c.groups, func(g *group) bool { return g.states[0] == a })
	if i < 0 {
		i = len(c.groups)
		c.groups = append(c.groups, &group{states: []*state{a}})
	}
	g := c.groups[i]
	g.states = append(g.states, b)
	g.rows = append(g.rows, &row{b: b, judge: stat.RowJudge{
		Judge: stat.Judge{Comparing: c.Comparing, Rows: rows},
	}})
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

func (c *comparison) nothingPairs(cases []record.Case) error {
	names := map[string][]string{}
	for _, l := range cases {
		names[l.Side] = append(names[l.Side], l.Name)
	}
	var texts []string
	for _, side := range c.Sides {
		texts = append(texts, fmt.Sprintf("%s has %s", side.Name, strings.Join(names[side.Name], ", ")))
	}
	return fmt.Errorf("no case to compare: %s; cases pair by name, or where each side has a single one (--filter)",
		strings.Join(texts, "; "))
}

// rounds runs every group once a round, in random order, until all are done.
func (c *comparison) rounds(ctx context.Context) error {
	for round := 0; ; round++ {
		active := slices.DeleteFunc(slices.Clone(c.groups), c.finished)
		if len(active) == 0 {
			return nil
		}
		c.random.Shuffle(len(active), func(i, j int) { active[i], active[j] = active[j], active[i] })
		for _, g := range active {
			if err := c.round(ctx, g, round); err != nil || ctx.Err() != nil {
				return err
			}
		}
	}
}

// round runs a process of each side that is still needed, then looks at the rows.
func (c *comparison) round(ctx context.Context, g *group, round int) error {
	if round%2 == 0 {
		g.order = slices.Clone(g.states)
		c.random.Shuffle(len(g.order), func(i, j int) { g.order[i], g.order[j] = g.order[j], g.order[i] })
	} else {
		slices.Reverse(g.order)
	}
	seed := c.processSeed()
	located := map[*state]float64{}
	for _, s := range g.order {
		if !g.needs(s) {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		c.progress(c.tellGroup(s, round))
		before := len(s.locations)
		if err := c.measure(ctx, s, round, seed); err != nil {
			return err
		}
		if len(s.locations) > before {
			located[s] = s.locations[before]
		}
	}
	for _, row := range g.rows {
		a, okA := located[g.states[0]]
		b, okB := located[row.b]
		if okA && okB && !row.done {
			row.judge.Add(a, b)
			row.done = row.judge.Enough()
		}
		row.done = row.done || g.states[0].done || row.b.done
	}
	return nil
}

// needs tells whether a side's process has a part in a row that is not done.
func (g *group) needs(s *state) bool {
	return slices.ContainsFunc(g.rows, func(r *row) bool { return !r.done && (r.b == s || g.states[0] == s) })
}

func (c *comparison) finished(g *group) bool {
	if !slices.ContainsFunc(g.rows, func(r *row) bool { return !r.done }) {
		return true
	}
	var spent time.Duration
	for _, s := range g.states {
		spent += s.spent
	}
	if n := c.Comparing.Processes; n > 0 {
		return g.states[0].processes >= n
	}
	return spent >= c.Time*time.Duration(len(g.states)) || g.states[0].processes >= mostProcesses
}

// tellGroup is the progress: the time left is what the groups may still spend, at most.
func (c *comparison) tellGroup(current *state, round int) Progress {
	p := Progress{Case: current.Name, Round: round + 1, Elapsed: time.Since(c.started)}
	for _, g := range c.groups {
		if c.finished(g) {
			continue
		}
		for _, s := range g.states {
			p.Cases++
			switch n := c.Comparing.Processes; {
			case n > 0 && s.processes > 0:
				p.Left += s.spent / time.Duration(s.processes) * time.Duration(max(n-s.processes, 0))
			case n == 0:
				p.Left += max(c.Time-s.spent, 0)
			}
		}
	}
	return p
}

// ofSide puts the side before an error's text.
func ofSide(err error, side string) error {
	if plan, ok := err.(*PlanError); ok {
		return &PlanError{Side: side, Fault: plan.Fault, Exit: plan.Exit}
	}
	return fmt.Errorf("%s: %w", side, err)
}
