// Package toplines is evidence of the Lua lines and functions that a worker computes in, interval after interval.
package toplines

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/ui"
)

// Name is that of the kind, and of its flag.
const Name = "top-lines"

// A Result is what samples of CPU time fell into.
type Result struct {
	Samples   int   `json:"samples"`   // of CPU time, those without Lua included
	Lines     []Row `json:"lines"`     // of Lua, those with most samples of their own first
	Functions []Row `json:"functions"` // so, too
	Intervals int   `json:"-"`         // of a live page, that are together here; 0: one
}

// A Row is a line or a function with its samples.
type Row struct {
	Name  string `json:"name"`
	Self  int    `json:"self_samples"`   // it was the innermost of Lua, with what it called in C
	Total int    `json:"total_samples"`  // it was on the stack, with all that it called
	File  string `json:"file,omitempty"` // of a line, as Lua has it
	Line  int    `json:"line,omitempty"` // the first that it may be
	Last  int    `json:"last_line,omitempty"`
}

// Profile is a profile of the lines: of each its own time alone, as who called it is not kept.
func (r *Result) Profile() *profile.Profile {
	p := &profile.Profile{Head: profile.Head{Mode: sample.OnCPU}}
	rest := r.Samples
	for _, row := range r.Lines {
		if row.Line > 0 && row.Self > 0 {
			p.Add([]profile.Frame{{Kind: profile.Lua, Function: row.Name, File: row.File, Line: row.Line, LastLine: row.Last}}, nil, int64(row.Self))
			rest -= row.Self
		}
	}
	if rest > 0 {
		p.Add([]profile.Frame{{Kind: profile.C, Function: "other"}}, nil, int64(rest))
	}
	return p
}

func init() { evidence.Register(Name, func() evidence.Result { return &Result{} }) }

// resultOf is what samples of a worker fell into; those in which it slept are left out.
func resultOf(samples []sample.Sample) *Result {
	r := &Result{}
	lines, functions := map[string]Row{}, map[string]Row{}
	for _, s := range samples {
		if s.Asleep {
			continue
		}
		r.Samples++
		count(lines, s.Stack, profile.Frame.Where)
		count(functions, s.Stack, functionOf)
	}
	r.Lines, r.Functions = sorted(lines), sorted(functions)
	for i := range r.Functions {
		r.Functions[i].Line, r.Functions[i].Last = 0, 0
	}
	return r
}

// count adds a stack, the innermost frame first; recursion counts once.
func count(rows map[string]Row, stack []profile.Frame, name func(profile.Frame) string) {
	seen := map[string]bool{}
	for _, f := range stack {
		if f.Kind != profile.Lua {
			continue
		}
		key := name(f)
		row := rows[key]
		row.Name, row.File, row.Line, row.Last = key, f.File, f.Line, f.LastLine
		if len(seen) == 0 {
			row.Self++
		}
		if !seen[key] {
			row.Total++
		}
		seen[key] = true
		rows[key] = row
	}
}

// functionOf is a function by where it begins.
func functionOf(f profile.Frame) string {
	f.Line, f.LastLine = 0, 0
	return cmp.Or(f.Where(), f.Function+"@"+path.Base(f.File))
}

func sorted(rows map[string]Row) []Row {
	all := slices.AppendSeq([]Row{}, maps.Values(rows))
	slices.SortFunc(all, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), strings.Compare(a.Name, b.Name))
	})
	return all
}

// Merge is both together.
func (r *Result) Merge(other evidence.Result) evidence.Result {
	o := other.(*Result)
	both := func(a, b []Row) []Row {
		rows := map[string]Row{}
		for _, row := range slices.Concat(a, b) {
			sum := rows[row.Name]
			row.Self, row.Total = row.Self+sum.Self, row.Total+sum.Total
			rows[row.Name] = row
		}
		return sorted(rows)
	}
	return &Result{Samples: r.Samples + o.Samples, Lines: both(r.Lines, o.Lines), Functions: both(r.Functions, o.Functions)}
}

const (
	enough     = 100 // samples, so that a line of one in twenty shows
	mostRecent = 30  // intervals
)

// Recent are as many of the last intervals together, the newest last, as have enough samples: a worker that computes little has two or
// three in each, which say nothing. It returns those that are worth keeping for the next interval, too.
func Recent(intervals []*Result) (*Result, []*Result) {
	intervals = intervals[max(0, len(intervals)-mostRecent):]
	sum := &Result{}
	for i := len(intervals) - 1; i >= 0 && sum.Samples < enough; i-- {
		n := sum.Intervals + 1
		sum = sum.Merge(intervals[i]).(*Result)
		sum.Intervals = n
	}
	return sum, intervals
}

// Text lists lines and functions as a share of the CPU time.
func (r *Result) Text(p *ui.Page, whose string) {
	over := ui.When(r.Intervals > 1, fmt.Sprintf(" in the last %d intervals", r.Intervals))
	p.Section(fmt.Sprintf("Lua lines%s, of %s of CPU time%s", whose, ui.Plural(r.Samples, "sample", "samples"), over))
	if len(r.Lines) == 0 {
		p.FaintLine("no sample fell into Lua")
		return
	}
	r.table(p, "line", r.Lines)
	r.table(p, "function, by where it begins", r.Functions)
}

func (r *Result) table(p *ui.Page, what string, rows []Row) {
	p.Line(p.Faint.Render(fmt.Sprintf("  %6s %6s  %s", "self", "total", what)))
	share := func(n int) string { return ui.Percent(float64(n) / float64(max(1, r.Samples))) }
	for row := range ui.First(p, rows) {
		p.Line(p.Shorten(fmt.Sprintf("  %6s %6s  %s", share(row.Self), share(row.Total), ui.Clean(row.Name)), p.Options.Width))
	}
}
