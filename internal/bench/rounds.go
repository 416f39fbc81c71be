package bench

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/stat"
)

// A group are the cases that are compared with one, which is the first; or a case alone.
type group struct {
	states []*state
	rows   []*row
	order  []*state // of the last round
}

// A row is one comparison.
type row struct {
	a, b  *state
	judge stat.RowJudge
	done  bool
}

// rounds runs every group once a round, in random order, until all are done.
func (r *run) rounds(ctx context.Context) error {
	for round := 0; ; round++ {
		active := slices.DeleteFunc(slices.Clone(r.groups), (*group).done)
		if len(active) == 0 {
			return nil
		}
		r.random.Shuffle(len(active), func(i, j int) { active[i], active[j] = active[j], active[i] })
		for _, g := range active {
			if err := r.round(ctx, g, round); err != nil || ctx.Err() != nil {
				return err
			}
		}
	}
}

func (g *group) done() bool {
	return !slices.ContainsFunc(g.states, func(s *state) bool { return !s.done })
}

// round runs a process of each case that is not done, then looks at what there is.
func (r *run) round(ctx context.Context, g *group, round int) error {
	g.turn(r.random, round)
	seed := r.processSeed()
	for _, s := range g.order {
		if s.done {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		r.tell(s, round)
		if err := r.measure(ctx, s, round, seed); err != nil {
			return err
		}
	}
	r.look(g, round)
	return nil
}

// turn makes the order of a round: random, or the reverse of the one before.
func (g *group) turn(random *rand.Rand, round int) {
	if round%2 == 1 {
		slices.Reverse(g.order)
		return
	}
	g.order = slices.Clone(g.states)
	random.Shuffle(len(g.order), func(i, j int) { g.order[i], g.order[j] = g.order[j], g.order[i] })
}

// look decides what needs no further round.
func (r *run) look(g *group, round int) {
	for _, row := range g.rows {
		r.judge(row, round)
	}
	if len(g.rows) > 0 && g.rows[0].a.failed && len(r.Sides) == 1 {
		g.rows = r.rowsOf(g.states) // with another case that all are compared with
		for _, row := range g.rows {
			for earlier := range round + 1 {
				r.judge(row, earlier)
			}
		}
	}
	for _, s := range g.states {
		s.done = s.failed || !g.needs(s, r.enough)
	}
}

// judge hands a row what its two processes of a round took.
func (r *run) judge(row *row, round int) {
	if row.done {
		return
	}
	a, okA := row.a.located[round]
	b, okB := row.b.located[round]
	if okA && okB {
		row.judge.Add(a, b)
		row.done = row.judge.Enough()
	}
	row.done = row.done || row.a.failed || row.b.failed
	if r.count > 0 {
		row.done = row.done || row.b.processes >= r.count
		return
	}
	row.done = row.done || row.a.spent+row.b.spent >= 2*r.budget || row.b.processes >= mostProcesses
}

// needs tells whether a comparison of a case is open or, where it has none, the case has
// not enough by itself.
func (g *group) needs(s *state, enough func(*state) bool) bool {
	compared := false
	for _, row := range g.rows {
		if row.a == s || row.b == s {
			if !row.done {
				return true
			}
			compared = true
		}
	}
	return !compared && !enough(s)
}

// enough tells whether a case that is compared with nothing needs no more processes.
func (r *run) enough(s *state) bool {
	if r.count > 0 {
		return s.processes >= r.count
	}
	if s.spent >= r.budget || s.processes >= mostProcesses {
		return true
	}
	return s.processes >= leastProcesses &&
		stat.Precision(slices.Sorted(maps.Values(s.located))) <= s.options.Precision
}

// tell reports progress: the time left is what the cases may still spend, at most.
func (r *run) tell(current *state, round int) {
	p := Progress{Case: current.Name, Round: round + 1, Elapsed: time.Since(r.started)}
	for _, g := range r.groups {
		for _, s := range g.states {
			switch {
			case s.done:
				continue
			case r.count > 0 && s.processes > 0:
				p.Left += s.spent / time.Duration(s.processes) * time.Duration(max(r.count-s.processes, 0))
			case r.count == 0:
				p.Left += max(r.budget-s.spent, 0)
			}
			p.Cases++
		}
	}
	r.progress(p)
}
