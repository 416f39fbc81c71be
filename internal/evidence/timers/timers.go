// Package timers is evidence of Lua's timers: how many are pending and run, and what they call.
package timers

import (
	"fmt"
	"slices"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/metrics"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/worker"
)

// Name is that of the kind.
const Name = "timers"

// A Result is the timers of some workers at a moment.
type Result struct {
	Workers []Worker `json:"workers"`
}

// A Worker is the timers of one.
type Worker struct {
	PID int `json:"pid"`
	ngxlua.LuaTimers
}

func init() { evidence.Register(Name, func() evidence.Result { return &Result{} }) }

// Of is those of a worker. Of the timers that run, those are counted by function that are among the requests in flight.
func Of(w *worker.Worker, requests []ngxlua.InFlight) (*Result, error) {
	t, err := w.LuaTimers()
	if err != nil {
		return nil, err
	}
	t.Count(requests)
	return &Result{[]Worker{{w.PID, t}}}, nil
}

// Merge is both together. Of a worker that both have, it is the later.
func (r *Result) Merge(other evidence.Result) evidence.Result {
	return &Result{evidence.Latest(r.Workers, other.(*Result).Workers, func(w Worker) int { return w.PID })}
}

// Metrics writes how many there are.
func (r *Result) Metrics(p *metrics.Page, labels ...string) {
	p.Family("worker_timers", "gauge", "Timers that Lua has set: pending and running.")
	for _, w := range r.Workers {
		p.Value(float64(w.Pending), append(slices.Clone(labels), "state", "pending")...)
		p.Value(float64(w.Running), append(slices.Clone(labels), "state", "running")...)
	}
}

// Text lists the functions that timers call, in each worker those with the most timers.
func (r *Result) Text(p *ui.Page, whose string) {
	if slices.ContainsFunc(r.Workers, func(w Worker) bool { return len(w.Functions) > 0 }) {
		r.List(p, title+whose, ui.MostListed)
	}
}

const title = "timers of Lua, by what they call"

// Whole draws the timers of one worker, with how many there are and may be.
func (r *Result) Whole(p *ui.Page) {
	if w := r.Workers[0]; w.Pending+w.Running > 0 {
		r.List(p, fmt.Sprintf("%s: %d pending of at most %d, %d running of %d", title, w.Pending, w.MostPending, w.Running, w.MostRunning), ui.MostLines)
	}
}

// List draws up to most functions of each worker under a title.
func (r *Result) List(p *ui.Page, title string, most int) {
	headers, left := []string{"pending", "running", "next due", "last due", "function"}, 4
	several := len(r.Workers) > 1
	if several {
		headers, left = append([]string{"worker"}, headers...), left+1
	}
	unread, more := 0, 0
	var table [][]string
	for _, w := range r.Workers {
		for _, row := range groups(p, w.Functions[:min(len(w.Functions), most)]) {
			if several {
				row = append([]string{fmt.Sprint(w.PID)}, row...)
			}
			table = append(table, row)
		}
		more += max(0, len(w.Functions)-most)
		unread += w.Unread
	}
	p.Section(title)
	if len(table) > 0 {
		p.ShortenLast(headers, table)
		p.Fitted(headers, table, left)
		p.Rest(most, most+more)
	}
	if unread > 0 {
		p.FaintLine(fmt.Sprintf("of %d the function is not known", unread))
	}
}

// groups is a line for each function.
func groups(p *ui.Page, all []ngxlua.TimerGroup) (rows [][]string) {
	for _, g := range all {
		next, last := p.None, p.None
		if g.Next != nil && g.Last != nil {
			next, last = p.Time(float64(max(0, *g.Next))), p.Time(float64(max(0, *g.Last)))
		}
		rows = append(rows, []string{fmt.Sprint(g.Pending), fmt.Sprint(g.Running), next, last, ui.Clean(g.Function.In(""))})
	}
	return rows
}
