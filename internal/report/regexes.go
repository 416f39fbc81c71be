package report

import (
	"fmt"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/explain"
)

// regexes shows which lines work on regular expressions, and what takes the time there.
func (p *page) regexes(all []explain.Regex) {
	if len(all) == 0 {
		return
	}
	p.section("regular expressions")
	const indent = "         "
	advised := map[string]bool{}
	for i, r := range all {
		if i == mostLines {
			p.line(p.faint.Render(fmt.Sprintf("  and %d more", len(all)-i)))
			break
		}
		line, pattern := r.Line, ""
		if line == "" {
			line = "nginx, outside of Lua"
		}
		if r.Pattern != "" {
			pattern = p.shorten(clean(r.Pattern), 60)
		}
		if r.Options != "" {
			pattern += ` with "` + clean(r.Options) + `"`
		}
		p.para(fmt.Sprintf("  %5s  ", percent(r.Share)), p.join(clean(line), pattern), lipgloss.NewStyle())
		var parts []string
		for _, part := range []struct {
			share float64
			what  string
		}{
			{r.Compiled, "in the pattern's machine code"}, {r.Interpreted, "in PCRE's interpreter, or on the way to machine code"},
			{r.Compiling, "compiling the pattern"}, {r.Lua, "in Lua's own patterns"},
		} {
			if part.share > 0 {
				parts = append(parts, percent(part.share)+" "+part.what)
			}
		}
		p.para(indent, p.join(parts...), p.faint)
		if r.Advice != "" && !advised[r.Advice] {
			advised[r.Advice] = true
			p.para(indent+p.arrow+" ", r.Advice, p.faint)
		}
	}
}
