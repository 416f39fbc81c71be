package requests

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/ui"
)

// Text lists the oldest requests.
func (r *Result) Text(p *ui.Page, whose string) {
	r.List(p, "requests in flight"+whose, ui.MostListed, ui.MostListed)
}

// List draws the oldest requests under a title, up to most of them with up to below lines below each.
func (r *Result) List(p *ui.Page, title string, most, below int) {
	all, count := r.all()
	if len(all) == 0 {
		return
	}
	p.Section(title)
	headers, left := []string{"age", "phase", "request", "waits at"}, []int{1, 2, 3}
	several := len(r.Workers) > 1
	if several {
		headers, left = append([]string{"worker"}, headers...), []int{2, 3, 4}
	}
	var table [][]string
	for _, q := range all[:min(len(all), most)] {
		for i, row := range lines(p, q.InFlight, below) {
			if several {
				row = append([]string{ui.When(i == 0, fmt.Sprint(q.pid))}, row...)
			}
			table = append(table, row)
		}
	}
	p.ShortenLast(headers, table)
	p.Fitted(headers, table, left...)
	p.Rest(most, count)
}

// lines are a line for a request, and below it one for each of its light threads and coroutines, as far as they
// differ, up to N.
func lines(p *ui.Page, q ngxlua.InFlight, most int) [][]string {
	age := p.None
	if q.Age > 0 {
		age = p.Time(float64(q.Age))
	}
	what := strings.TrimSpace(q.Method + " " + q.URI)
	if what == "" {
		what = "(no text yet)"
		if q.Phase == "timer" {
			what = "(timer)"
		}
	}
	at := waitsAt(q)
	if q.Threads != nil {
		if at = threadAt(*q.Threads); q.Threads.State == "ended" {
			at = "for its light threads"
		}
	}
	rows := [][]string{{age, q.Phase, p.Shorten(ui.Clean(what), 30), ui.Clean(at)}}
	if q.Threads == nil {
		return rows
	}
	threads := threadLines(q.Threads.Children)
	for _, line := range threads[:min(len(threads), most)] {
		text := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(text)]
		rows = append(rows, []string{"", "", "", "  " + indent + ui.Clean(text)})
	}
	if left := len(threads) - most; left > 0 {
		rows = append(rows, []string{"", "", "", fmt.Sprintf("  and %d more", left)})
	}
	return rows
}

// threadLines are the coroutines of a tree, each with what it has begun below it; those that are alike are counted.
func threadLines(threads []ngxlua.Thread) []string {
	type alike struct {
		count int
		lines []string
	}
	var all []alike
	for _, t := range threads {
		word := "thread "
		if t.Kind == "coroutine" {
			word = "coroutine "
		}
		lines := []string{word + threadAt(t)}
		for _, inner := range threadLines(t.Children) {
			lines = append(lines, "  "+inner)
		}
		if i := slices.IndexFunc(all, func(a alike) bool { return slices.Equal(a.lines, lines) }); i >= 0 {
			all[i].count++
		} else {
			all = append(all, alike{1, lines})
		}
	}
	var lines []string
	for _, a := range all {
		if a.count > 1 {
			a.lines[0] = fmt.Sprintf("%d times: %s", a.count, a.lines[0])
		}
		lines = append(lines, a.lines...)
	}
	return lines
}

func threadAt(t ngxlua.Thread) string {
	switch t.State {
	case "waits":
		return t.Lua.In(t.Waits)
	case "new":
		return t.Lua.In("") + ", not resumed yet"
	}
	return t.State
}

func waitsAt(q ngxlua.InFlight) string {
	switch {
	case q.Running:
		return "runs"
	case q.Lua == nil && len(q.Tries) > 0:
		return upstream(q.Tries)
	case q.Lua == nil:
		return "outside of Lua"
	}
	return q.Lua.In(q.Waits)
}

// upstream is what the last try at an upstream server waits for, and that others failed before it.
func upstream(tries []ngxlua.Try) string {
	last := tries[len(tries)-1]
	at := last.Peer
	switch {
	case last.Total != nil:
		at += ", ended"
	case last.Header != nil:
		at += ", body"
	case last.Connect != nil:
		at += ", answer"
	default:
		at += ", connecting"
	}
	if n := len(tries) - 1; n > 0 {
		at += fmt.Sprintf("; try %d", n+1)
		if status := tries[n-1].Status; status != 0 {
			at += fmt.Sprintf(" after %d", status)
		}
	}
	return at
}
