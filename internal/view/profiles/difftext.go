package profiles

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/evidence/shares"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/ui"
)

// DrawDiff draws how two profiles differ; file is where the difference was written, "" nowhere.
// Its only error is that of w.
func DrawDiff(w io.Writer, d *profile.Diff, file string, opt ui.Options) error {
	p := &page{ui.NewPage(opt)}
	p.Line(p.Strong.Render("moonlap profile") + p.Faint.Render(p.Dot+"what has changed"))
	for _, side := range []struct {
		label   string
		profile *profile.Profile
	}{{"before", d.Before}, {"after", d.After}} {
		p.Fact(side.label, p.Join(ui.Clean(side.profile.Title), ui.Count(side.profile.Total())+" samples"))
	}
	if file != "" {
		p.Fact("file", ui.Clean(file))
	}
	p.changes("Lua lines", "line", d.LuaLines())
	p.changes("functions, with what they called", "function", d.Functions())
	p.changes("stacks", "stack", d.Stacks())
	kinds := slices.DeleteFunc(slices.Concat(first, OfSamples, details), func(kind string) bool { return kind == shares.Name }) // these are compared above
	d.Before.Evidence.Text(p.Page, ", before", kinds...)
	d.After.Evidence.Text(p.Page, ", after", kinds...)
	return p.Write(w)
}

const mostIndistinct = 3 // rows that may be chance and are drawn all the same

// changes draws the rows that are distinct, and the largest of those that are not, marked.
func (p *page) changes(title, what string, rows []profile.Row) {
	p.Section(title)
	distinct, drawn, chance := 0, 0, 0
	for _, r := range rows {
		if r.Change.Distinct {
			if distinct++; distinct <= ui.MostLines {
				p.change(r)
				drawn++
			}
		} else if r.Change.Change.Estimate != 0 && chance < mostIndistinct {
			p.change(r)
			chance++
		}
	}
	text := fmt.Sprintf("  %s by more than sampling error", differing(distinct, ui.Count(int64(len(rows)))+" "+what+"s"))
	switch {
	case len(rows) == 0:
		text = "  there are none to compare"
	case distinct == 0:
		text = fmt.Sprintf("  none of %s %ss differs by more than sampling error", ui.Count(int64(len(rows))), what)
	case distinct > drawn:
		text += fmt.Sprintf("; the largest %d are shown", drawn)
	}
	if chance > 0 {
		text += "; ~ may be chance"
	}
	p.Para("", text, p.Faint)
}

// inner leaves out of a stack what nginx's frames begin with: what they run is Lua.
func (p *page) inner(stack string) string {
	frames := strings.Split(stack, ";")
	if i := slices.IndexFunc(frames, func(f string) bool { return strings.Contains(f, "@") }); i > 0 {
		return p.Dots + ";" + strings.Join(frames[i:], ";")
	}
	return stack
}

// change draws one row: both shares, and the difference in points of per cent with its interval.
func (p *page) change(r profile.Row) {
	mark := " "
	if !r.Change.Distinct {
		mark = "~"
	}
	points := func(x float64) string { return fmt.Sprintf("%+.1f", 100*x) }
	c := r.Change.Change
	text := fmt.Sprintf("%s %6s %s %6s  %6s (%s to %s)  ", mark,
		fmt.Sprintf("%.1f", 100*r.Change.Before), p.Arrow, fmt.Sprintf("%.1f %%", 100*r.Change.After),
		points(c.Estimate), points(c.Low), points(c.High))
	name := ui.Clean(p.inner(r.Name))
	style := p.Faint
	if r.Change.Distinct {
		style = p.Bad
		if math.Signbit(c.Estimate) {
			style = p.Good
		}
	}
	p.Line(style.Render(text) + p.Shorten(name, max(20, p.Options.Width-len([]rune(text)))))
}

func differing(n int, of string) string {
	if n == 1 {
		return "1 of " + of + " differs"
	}
	return fmt.Sprintf("%d of %s differ", n, of)
}
