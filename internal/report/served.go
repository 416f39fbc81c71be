package report

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/ui"
)

// served lists what the worker had begun: its oldest requests with their light threads, and timers.
func (p *page) served(s *explain.Served) {
	if s == nil {
		return
	}
	if len(s.Requests) > 0 {
		p.Section("requests in flight, after the looks")
		var table [][]string
		for _, q := range s.Requests[:min(len(s.Requests), ui.MostLines)] {
			table = append(table, p.inFlight(q, mostFrames)...)
		}
		p.ShortenLast(inFlightHeaders, table)
		p.Fitted(inFlightHeaders, table, 1, 2, 3)
		p.lines(len(s.Requests))
	}
	if t := s.Timers; t != nil && t.Pending+t.Running > 0 {
		p.Section(fmt.Sprintf("timers of Lua, by what they call: %d pending of at most %d, %d running of %d",
			t.Pending, t.MostPending, t.Running, t.MostRunning))
		if table := p.timerGroups(t, ui.MostLines); len(table) > 0 {
			p.ShortenLast(timerHeaders, table)
			p.Fitted(timerHeaders, table, 4)
			p.lines(len(t.Functions))
		}
		if t.Unread > 0 {
			p.FaintLine(fmt.Sprintf("of %d the function is not known", t.Unread))
		}
	}
	for _, u := range s.Unknown {
		p.FaintLine("not known: " + u)
	}
}

// lines says how many of a list are not shown.
func (p *page) lines(count int) {
	if count > ui.MostLines {
		p.Line(p.Faint.Render(fmt.Sprintf("  and %d more: --json has them all", count-ui.MostLines)))
	}
}
