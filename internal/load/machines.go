package load

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// A Machine is one of several that made a load together.
type Machine struct {
	record.LoadHost // without what Summarize finds in its record
	Record          *record.Record
}

// SummarizeTogether is what records of machines say together: the results of the load that they made, each machine's own
// share beside it, and what went wrong on one alone.
func SummarizeTogether(machines []Machine, limits []string) (*record.LoadResults, *record.Record, error) {
	var list []*record.Record
	for _, m := range machines {
		list = append(list, m.Record)
	}
	joined, err := Join(list)
	if err != nil {
		return nil, nil, err
	}
	if len(limits) > 0 {
		joined.Load.Plan.Limits = limits
	}
	res := Summarize(joined)
	res.Problems = slices.DeleteFunc(res.Problems, func(p record.LoadProblem) bool {
		return p.Code == record.LoadClientSaturated // which machine is, follows
	})
	for i := range res.Sides {
		res.Sides[i].Client.Saturated = false
	}
	var more []record.LoadProblem
	ids := map[string]string{}
	for _, m := range machines {
		h := m.LoadHost
		h.Environment, h.Complete = m.Record.Run.Environment, m.Record.Complete()
		if id := h.Environment.Machine; id != "" && ids[id] != "" {
			more = append(more, record.LoadProblem{Code: record.LoadOneMachine,
				Text: ids[id] + " and " + h.Name + " are the same machine", Advice: "they share its processors"})
		} else if id != "" {
			ids[id] = h.Name
		}
		own := Summarize(m.Record)
		for i, s := range own.Sides {
			h.Sides = append(h.Sides, s.LoadSeen)
			if s.Client.Saturated && i < len(res.Sides) {
				res.Sides[i].Client.Saturated, res.Sides[i].Client.Verdict = true, h.Name+": "+s.Client.Verdict
				more = append(more, record.LoadProblem{Code: record.LoadClientSaturated, Side: s.Name, Decides: timed(res.Load.Limits),
					Text: h.Name + ": " + s.Client.Verdict, Advice: "spread the load over more hosts, or lower -R"})
			}
		}
		if m.Record.End == nil {
			more = append(more, record.LoadProblem{Code: record.LoadHostLost, Decides: true,
				Text: h.Name + " was lost in the midst of the load: the figures end there"})
		}
		res.Hosts = append(res.Hosts, h)
	}
	if p := apart(joined, res.Hosts); p != nil {
		more = append(more, *p)
	}
	AddProblems(res, more...)
	return res, joined, nil
}

// AddProblems adds what went wrong beside what the record says. Warnings and the outcome follow.
func AddProblems(res *record.LoadResults, more ...record.LoadProblem) {
	res.Problems = append(res.Problems, more...)
	res.Outcome, res.Warnings = record.LoadOK, []record.Warning{}
	for _, p := range res.Problems {
		if p.Decides && res.Outcome == record.LoadOK {
			res.Outcome = p.Code
		}
		text := p.Text
		if p.Side != "" && len(res.Sides) > 1 {
			text = p.Side + ": " + text
		}
		res.Warnings = append(res.Warnings, record.Warning{Code: p.Code, Text: text, Advice: p.Advice})
	}
}

// mostApart is the share of a slice by which machines may begin it at different times.
const mostApart = 0.25

// apart says that machines ran different sides at a time, where they did. Nine of ten slices are compared.
func apart(joined *record.Record, machines []record.LoadHost) *record.LoadProblem {
	slice := joined.Load.SliceNS()
	if len(joined.Cases) < 2 || slice <= 0 {
		return nil
	}
	last := 0.0 // of the beginnings
	for _, m := range machines {
		if m.BeganNS != nil {
			last = max(last, *m.BeganNS)
		}
	}
	early, late := map[int]float64{}, map[int]float64{}
	for _, s := range joined.Load.Slices {
		if s.Warmup {
			continue
		}
		if at, known := early[s.Slice]; !known || s.AtNS < at {
			early[s.Slice] = s.AtNS
		}
		late[s.Slice] = max(late[s.Slice], s.AtNS)
	}
	var gaps []float64
	for i, at := range early {
		gaps = append(gaps, late[i]-at)
	}
	if len(gaps) == 0 {
		return nil
	}
	slices.Sort(gaps)
	most := last + gaps[int(math.Ceil(0.9*float64(len(gaps))))-1]
	if most <= mostApart*slice {
		return nil
	}
	return &record.LoadProblem{Code: record.LoadHostsApart,
		Text:   fmt.Sprintf("hosts began slices up to %s apart, of %s: they loaded different sides at a time", ui.Time(most), ui.Time(slice)),
		Advice: "use a longer --slice, or hosts nearer to each other"}
}

// Missing says which hosts had no share.
func Missing(names []string) record.LoadProblem {
	return record.LoadProblem{Code: record.LoadHostLost, Decides: true,
		Text: strings.Join(names, ", ") + " took no part: less load was made than asked for"}
}
