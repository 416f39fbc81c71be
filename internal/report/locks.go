package report

import (
	"fmt"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/explain"
)

// locks shows which locks of shared memory were waited for.
func (p *page) locks(all []explain.LockWait) {
	if len(all) == 0 {
		return
	}
	p.section("waiting for locks of shared memory")
	p.line(p.faint.Render(fmt.Sprintf("  %7s %9s %8s", "share", "spinning", "asleep")))
	for i, w := range all {
		if i == mostLines {
			p.line(p.faint.Render(fmt.Sprintf("  and %d more", len(all)-i)))
			break
		}
		figures := fmt.Sprintf("  %7s %9s %8s  ", percent(w.Share), percent(w.Share-w.Asleep), percent(w.Asleep))
		p.para(figures, clean(p.join(w.Zone, p.call(w.Line, w.Called))), lipgloss.NewStyle())
	}
}

// call is a line and what it calls; either may be missing, as in a page fault of compiled code.
func (p *page) call(line, called string) string {
	if line == "" || called == "" {
		return line + called
	}
	return line + " " + p.arrow + " " + called
}
