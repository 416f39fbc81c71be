package bench

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// A group are the cases that are compared with one, which is the first; or a case alone.
type group struct {
	states []*state
	order  []*state // of the last round, with their empty twins
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
		r.look(round)
	}
}

func (g *group) done() bool {
	return !slices.ContainsFunc(g.states, func(s *state) bool { return !s.done })
}

// warming reports whether a round is before those that count.
func (r *run) warming(round int) bool { return round < r.Sides[0].Warmup }

// round runs a process of each member of a group that is not done.
func (r *run) round(ctx context.Context, g *group, round int) error {
	g.turn(r.random, round-r.Sides[0].Warmup)
	seed := r.processSeed()
	for _, s := range g.order {
		if s.idle() {
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
	return r.join(g, round)
}

// turn makes the order of a round: random, or the reverse of the one before.
func (g *group) turn(random *rand.Rand, round int) {
	if round%2 == 1 {
		slices.Reverse(g.order)
		return
	}
	g.order = slices.Concat(g.states, g.twins())
	random.Shuffle(len(g.order), func(i, j int) { g.order[i], g.order[j] = g.order[j], g.order[i] })
}

// look decides which cases need no further round: those whose comparisons are decided or,
// where they have none, whose interval is narrow enough; and those whose time is spent.
func (r *run) look(round int) {
	for i, f := range r.figures {
		for _, s := range r.states() {
			if ns, ok := s.located[i][round]; ok && !s.done {
				f.turns.Add(s.Case.Case, round, ns)
				if s.slowed[round] {
					f.turns.Disturbed(s.Case.Case, round)
				}
			}
		}
		f.turns.Look(round)
		for _, s := range r.states() {
			switch {
			case s.failed:
				f.turns.Fail(s.Case.Case)
			case r.spent(s):
				f.turns.Close(s.Case.Case)
			}
		}
	}
	for _, s := range r.states() {
		open, compared := r.open(s.Case.Case)
		s.done = s.failed || r.spent(s) || compared && !open || !compared && r.precise(s)
	}
}

func (r *run) states() (all []*state) {
	for _, g := range r.groups {
		all = append(all, g.states...)
	}
	return all
}

// spent reports whether a case has had all the processes that it may have.
func (r *run) spent(s *state) bool {
	if r.count > 0 {
		return s.processes >= r.count
	}
	budget := r.budget
	if len(s.quiet) < leastQuiet {
		budget += s.options.WaitQuiet
	}
	return s.processes >= r.limits.most || s.spent >= budget && s.processes >= r.limits.few
}

// leastQuiet processes with quiet moments have an interval, so that nothing more is waited for.
var leastQuiet = estimate.LeastForMedian(estimate.Level)

// precise reports whether a case's own interval, of its processes in quiet moments, is narrow enough. With a twin, whole pairs of rounds
// are balanced.
func (r *run) precise(s *state) bool {
	const many = 200 // from there on a look takes long
	if r.count > 0 || s.processes < r.limits.least || s.twin != nil && s.processes%2 == 1 || s.processes > many && s.processes%10 > 0 {
		return false
	}
	return stat.Precision(slices.Sorted(maps.Values(s.quiet))) <= s.options.Precision
}

// tell reports progress: the time left is what the cases may still spend, at most.
func (r *run) tell(current *state, round int) {
	p := Progress{Case: current.Name, Round: max(0, round+1-r.Sides[0].Warmup), Elapsed: time.Since(r.started)}
	for _, s := range r.states() {
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
	r.progress(p)
}
