package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/watch"
)

// Watch draws a table of workers over an interval that ended at a time, and returns the number of its
// lines. Its only error is that of w.
func Watch(w io.Writer, rows []watch.Row, at time.Time, opt Options) (lines int, err error) {
	p := newPage(opt)
	p.line(p.strong.Render("moonlap watch") + p.faint.Render(p.dot+at.Format(time.TimeOnly)))
	headers := []string{"worker", "CPU", "queue", "Lua", "mostly", "heap", "traces", "RSS", "sockets", "switches/s", "I/O /s"}
	var table [][]string
	var notes []string
	for _, r := range rows {
		if r.Error != "" {
			notes = append(notes, fmt.Sprintf("worker %d: %s", r.PID, r.Error))
			continue
		}
		sockets := p.none
		if r.Sockets >= 0 {
			sockets = fmt.Sprint(r.Sockets)
		}
		table = append(table, []string{
			fmt.Sprint(r.PID), percent(r.CPU), percent(r.Wait), percent(r.Lua), r.StateOf(), p.size(float64(r.Heap)),
			fmt.Sprint(r.Traces), p.size(float64(r.RSS)), sockets,
			fmt.Sprintf("%.0f", r.Voluntary+r.Involuntary), p.size(r.Read + r.Write),
		})
		if r.Busiest != "" {
			notes = append(notes, fmt.Sprintf("worker %d ran Lua mostly for %s", r.PID, r.Busiest))
		}
	}
	if len(table) > 0 {
		p.table(headers, table, 4)
	}
	for _, n := range notes {
		p.line(p.faint.Render(p.shorten("  "+clean(n), p.opt.Width)))
	}
	return strings.Count(p.b.String(), "\n"), p.writeTo(w)
}
