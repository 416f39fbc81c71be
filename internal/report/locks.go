package report

import (
	"fmt"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/ui"
)

// locks shows which locks of shared memory were waited for.
func (p *page) locks(all []explain.LockWait) {
	if len(all) == 0 {
		return
	}
	p.Section("waiting for locks of shared memory")
	p.Line(p.Faint.Render(fmt.Sprintf("  %7s %9s %8s", "share", "spinning", "asleep")))
	for i, w := range all {
		if i == mostLines {
			p.Line(p.Faint.Render(fmt.Sprintf("  and %d more", len(all)-i)))
			break
		}
		figures := fmt.Sprintf("  %7s %9s %8s  ", ui.Percent(w.Share), ui.Percent(w.Share-w.Asleep), ui.Percent(w.Asleep))
		p.Para(figures, ui.Clean(p.Join(w.Zone, p.call(w.Line, w.Called))), lipgloss.NewStyle())
	}
}

// call is a line and what it calls; either may be missing, as in a page fault of compiled code.
func (p *page) call(line, called string) string {
	if line == "" || called == "" {
		return line + called
	}
	return line + " " + p.Arrow + " " + called
}
