package load

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// Join merges the records of several machines that ran the same plan at the same time into one, as if it had been one machine
// with all their threads and connections. Slices of the same number are one slice.
func Join(records []*record.Record) (*record.Record, error) {
	if len(records) == 0 {
		return nil, errors.New("no record to join")
	}
	first := records[0]
	if err := joinable(first); err != nil {
		return nil, err
	}
	joined := &record.Record{Run: first.Run, Runtime: first.Runtime, Cases: first.Cases}
	plan := *first.Load.Plan
	plan.SliceNS = first.Load.SliceNS()
	plan.Machines, plan.Connections, plan.Rate, plan.Requests = 0, 0, 0, 0
	plan.Stages = slices.Clone(plan.Stages)
	complete := true
	for machine, r := range records {
		if err := joinable(r); err != nil {
			return nil, err
		}
		if err := same(first, r); err != nil {
			return nil, err
		}
		p := r.Load.Plan
		count := max(1, p.Machines)
		plan.Machines += count
		plan.Connections += p.Connections
		plan.Rate += p.Rate
		plan.Requests += p.Requests
		if machine > 0 {
			addStages(plan.Stages, p.Stages)
		}
		complete = complete && r.Complete()
		joined.Faults = append(joined.Faults, r.Faults...)
		if err := joinLines(joined, r, machine); err != nil {
			return nil, err
		}
	}
	if !complete && plan.Requests == 0 {
		cutToCommon(&joined.Load, len(records))
	}
	plan.ServerPIDs = nil // each machine sees its own server, if any
	joined.Load.Plan = &plan
	reason := "interrupted"
	if complete {
		reason = "complete"
	}
	joined.End = &record.End{Reason: reason}
	return joined, nil
}

// cutToCommon leaves out what machines measured after another one had ended: the load was another one then.
func cutToCommon(l *record.LoadRecord, machines int) {
	last := make([]int, machines)
	for i := range last {
		last[i] = -1
	}
	for _, s := range l.Slices {
		if !s.Warmup && s.Machine < machines {
			last[s.Machine] = max(last[s.Machine], s.Slice)
		}
	}
	last = slices.DeleteFunc(last, func(slice int) bool { return slice < 0 })
	if len(last) == 0 {
		return
	}
	common := slices.Min(last)
	l.Slices = slices.DeleteFunc(l.Slices, func(s record.LoadSlice) bool { return s.Slice > common })
}

// addStages adds the rates of another machine.
func addStages(to, stages []record.LoadStage) {
	for i := range min(len(to), len(stages)) {
		to[i].Rate += stages[i].Rate
		if to[i].From != nil && stages[i].From != nil {
			from := *to[i].From + *stages[i].From
			to[i].From = &from
		}
	}
}

func joinable(r *record.Record) error {
	switch {
	case r.Run.Kind != record.KindLoad || r.Load.Plan == nil:
		return fmt.Errorf("a record of %q cannot be joined: it is no load", r.Run.Kind)
	case r.Load.Plan.Searching:
		return errors.New("a search for the highest rate cannot be joined: each machine found its own rates")
	}
	return nil
}

// same refuses records of different plans.
func same(a, b *record.Record) error {
	names := func(r *record.Record) (list []string) {
		for _, c := range r.Cases {
			list = append(list, c.Name)
		}
		return list
	}
	if !slices.Equal(names(a), names(b)) {
		return fmt.Errorf("the records have different sides: %v and %v", names(a), names(b))
	}
	p, q := a.Load.Plan, b.Load.Plan
	switch {
	case len(a.Cases) > 1 && a.Run.Seed != b.Run.Seed:
		return errors.New("records of comparisons are joined where the sides took turns in the same order: run all with the same --seed")
	case len(a.Cases) > 1 && a.Load.SliceNS() != b.Load.SliceNS():
		return fmt.Errorf("records of comparisons are joined where slices are equally long, and these are of %s and %s: run all with the same --slice",
			time.Duration(a.Load.SliceNS()), time.Duration(b.Load.SliceNS()))
	case p.SliceNS != q.SliceNS || p.Threads != q.Threads || p.Protocol != q.Protocol || (p.Rate > 0) != (q.Rate > 0):
		return errors.New("the records were measured in different ways: slices, threads, protocol or rate differ")
	}
	return nil
}

// joinLines adds a machine's lines. Its threads get numbers of their own.
func joinLines(joined, r *record.Record, machine int) error {
	offset := 0
	for _, t := range joined.Load.Threads {
		offset = max(offset, t.Thread+1)
	}
	for _, t := range r.Load.Threads {
		t.Thread, t.Machine = t.Thread+offset, machine
		joined.Load.Threads = append(joined.Load.Threads, t)
	}
	for _, s := range r.Load.Slices {
		s.Thread, s.Machine, s.ServerCPUNS, s.Yardsticks = s.Thread+offset, machine, nil, nil
		joined.Load.Slices = append(joined.Load.Slices, s)
	}
	for _, e := range r.Load.Errors {
		e.Thread, e.Machine = e.Thread+offset, machine
		joined.Load.Errors = append(joined.Load.Errors, e)
	}
	for _, s := range r.Load.Scripts {
		s.Machine = machine
		joined.Load.Scripts = append(joined.Load.Scripts, s)
	}
	for _, d := range r.Load.Done {
		d.Machine = machine
		joined.Load.Done = append(joined.Load.Done, d)
	}
	slices.SortStableFunc(joined.Load.Slices, func(a, b record.LoadSlice) int { return a.Slice - b.Slice })
	return nil
}
