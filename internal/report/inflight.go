package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/worker"
)

// inFlightHeaders are of the columns of inFlight.
var inFlightHeaders = []string{"age", "phase", "request", "waits at"}

// inFlight is a line for a request, and below it one for each of its light threads and coroutines, as far as they
// differ, up to so many.
func (p *page) inFlight(q worker.InFlight, most int) [][]string {
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
	lines := threadLines(q.Threads.Children)
	for _, line := range lines[:min(len(lines), most)] {
		text := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(text)]
		rows = append(rows, []string{"", "", "", "  " + indent + ui.Clean(text)})
	}
	if left := len(lines) - most; left > 0 {
		rows = append(rows, []string{"", "", "", fmt.Sprintf("  and %d more", left)})
	}
	return rows
}

// threadLines are the coroutines of a tree, each with what it has begun below it; those that are alike are counted.
func threadLines(threads []worker.Thread) []string {
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

func threadAt(t worker.Thread) string {
	switch t.State {
	case "waits":
		return placeAt(t.Lua, t.Waits)
	case "new":
		return placeAt(t.Lua, "") + ", not resumed yet"
	}
	return t.State
}

// placeAt is where a Lua function waits: function file:line in what.
func placeAt(f *worker.Frame, in string) string {
	if f == nil {
		return "in " + in
	}
	at := fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)
	if f.Function != "" {
		at = f.Function + " " + at
	}
	if in != "" {
		at += " in " + in
	}
	return at
}

func waitsAt(q worker.InFlight) string {
	switch {
	case q.Running:
		return "runs"
	case q.Lua == nil && len(q.Tries) > 0:
		return upstream(q.Tries)
	case q.Lua == nil:
		return "outside of Lua"
	}
	return placeAt(q.Lua, q.Waits)
}

var timerHeaders = []string{"pending", "running", "next due", "last due", "function"}

// timerGroups is a line for each function that timers call, the one with the most timers first, up to so many.
func (p *page) timerGroups(t *worker.LuaTimers, most int) [][]string {
	var rows [][]string
	for _, g := range t.Functions[:min(len(t.Functions), most)] {
		next, last := p.None, p.None
		if g.Next != nil && g.Last != nil {
			next, last = p.Time(float64(max(0, *g.Next))), p.Time(float64(max(0, *g.Last)))
		}
		rows = append(rows, []string{fmt.Sprint(g.Pending), fmt.Sprint(g.Running), next, last, ui.Clean(placeAt(&g.Function, ""))})
	}
	return rows
}

// upstream is what the last try at an upstream server waits for, and that others failed before it.
func upstream(tries []worker.Try) string {
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
