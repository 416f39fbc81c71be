package report

import (
	"fmt"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/ui"
)

// regexes shows which lines work on regular expressions, and what takes the time there.
func (p *page) regexes(all []explain.Regex) {
	if len(all) == 0 {
		return
	}
	p.Section("regular expressions")
	const indent = "         "
	advised := map[string]bool{}
	for i, r := range all {
		if i == ui.MostLines {
			p.Line(p.Faint.Render(fmt.Sprintf("  and %d more", len(all)-i)))
			break
		}
		line, pattern := r.Line, ""
		if line == "" {
			line = "nginx, outside of Lua"
		}
		if r.Pattern != "" {
			pattern = p.Shorten(ui.Clean(r.Pattern), 60)
		}
		if r.Options != "" {
			pattern += ` with "` + ui.Clean(r.Options) + `"`
		}
		p.Para(fmt.Sprintf("  %5s  ", ui.Percent(r.Share)), p.Join(ui.Clean(line), pattern), lipgloss.NewStyle())
		var parts []string
		for _, part := range []struct {
			share float64
			what  string
		}{
			{r.Compiled, "in the pattern's machine code"}, {r.Interpreted, "in PCRE's interpreter, or on the way to machine code"},
			{r.Compiling, "compiling the pattern"}, {r.Lua, "in Lua's own patterns"},
		} {
			if part.share > 0 {
				parts = append(parts, ui.Percent(part.share)+" "+part.what)
			}
		}
		p.Para(indent, p.Join(parts...), p.Faint)
		if r.Advice != "" && !advised[r.Advice] {
			advised[r.Advice] = true
			p.Para(indent+p.Arrow+" ", r.Advice, p.Faint)
		}
	}
}
