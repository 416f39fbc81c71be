package bench

import (
	"fmt"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
)

// An empty twin is a member of a group that is no case. It runs in each round of the cases that it
// is taken off, and what it took stands in their processes.

// addTwins gives the cases of a side their twins, which several of them may share.
func addTwins(side *Options, cases []*state) {
	if side.Program == nil {
		return
	}
	shared := map[int]*state{}
	for _, s := range cases {
		number, ok := side.Program.Twin(s.Index)
		if !ok {
			continue
		}
		if shared[number] == nil {
			name := fmt.Sprintf("the empty twin %s", s.Params[record.EmptyParam])
			shared[number] = &state{planned: planned{Case: record.Case{Case: -1, Index: number, Name: name}}, options: side}
		}
		s.twin = shared[number]
		s.twin.users = append(s.twin.users, s)
	}
}

// twins are those of a group's cases, each once.
func (g *group) twins() (twins []*state) {
	for _, s := range g.states {
		if s.twin != nil && s.twin.users[0] == s {
			twins = append(twins, s.twin)
		}
	}
	return twins
}

// idle reports whether a member of a group has no more to do.
func (s *state) idle() bool {
	if len(s.users) == 0 {
		return s.done
	}
	return !slices.ContainsFunc(s.users, func(user *state) bool { return !user.done })
}

// join files what the processes of a round said of cases with twins, whose order is random: so
// neither can be filed before both are over.
func (r *run) join(g *group, round int) error {
	for _, s := range g.states {
		if s.twin == nil || len(s.said) == 0 {
			continue
		}
		s.failed = s.failed || s.twin.failed
		lines := joined(s.said, s.twin.said)
		for _, line := range lines {
			if err := r.add(line); err != nil {
				return err
			}
		}
		if p, ok := lines[0].(record.Process); ok {
			r.locate(s, p.Process, round)
		}
	}
	for _, s := range g.order {
		s.said = nil
	}
	return nil
}

// emptyKinds are what a twin's batches are called in the process of its case.
var emptyKinds = map[string]string{
	record.Measure: record.Empty, record.User: record.EmptyUser, record.System: record.EmptySystem,
}

// joined are the lines of a process with its twin's times. Where the twin failed, the process has
// its fault and no times.
func joined(own, twins []record.Line) (lines []record.Line) {
	process, ok := own[0].(record.Process)
	if !ok {
		return own // it did not begin
	}
	var times []record.Line
	var fault *record.Fault
	for _, line := range twins {
		switch l := line.(type) {
		case record.Batches:
			if kind := emptyKinds[l.Kind]; kind != "" {
				times = append(times, record.Batches{In: process.In, Kind: kind, Calls: l.Calls, NS: l.NS})
			}
		case record.Fault:
			l.In, l.Case = process.In, process.Case
			fault = &l
		}
	}
	for _, line := range own {
		switch line.(type) {
		case record.Fault:
			return own
		case record.Batches:
			if fault != nil {
				continue
			}
		case record.Finish:
			if fault != nil {
				lines = append(lines, *fault)
				continue
			}
			lines = append(lines, times...)
		}
		lines = append(lines, line)
	}
	return lines
}
