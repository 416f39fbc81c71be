package regexes

import (
	"fmt"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/ui"
)

// Text shows which lines work on regular expressions, and what takes the time there.
func (r *Result) Text(p *ui.Page, whose string) {
	p.Section("regular expressions" + whose)
	const indent = "         "
	advised := map[string]bool{}
	for l := range ui.First(p, r.Lines) {
		line, pattern := l.Line, ""
		if line == "" {
			line = "nginx, outside of Lua"
		}
		if l.Pattern != "" {
			pattern = p.Shorten(ui.Clean(l.Pattern), 60)
		}
		if l.Options != "" {
			pattern += ` with "` + ui.Clean(l.Options) + `"`
		}
		p.Para(fmt.Sprintf("  %5s  ", ui.Percent(l.Share)), p.Join(ui.Clean(line), pattern), lipgloss.NewStyle())
		var parts []string
		for _, part := range []struct {
			share float64
			what  string
		}{
			{l.Compiled, "in the pattern's machine code"}, {l.Interpreted, "in PCRE's interpreter, or on the way to machine code"},
			{l.Compiling, "compiling the pattern"}, {l.Lua, "in Lua's own patterns"},
		} {
			if part.share > 0 {
				parts = append(parts, ui.Percent(part.share)+" "+part.what)
			}
		}
		p.Para(indent, p.Join(parts...), p.Faint)
		if l.Advice != "" && !advised[l.Advice] {
			advised[l.Advice] = true
			p.Para(indent+p.Arrow+" ", l.Advice, p.Faint)
		}
	}
}
