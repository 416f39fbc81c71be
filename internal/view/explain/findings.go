// Package explain says in words what a worker does: whether it is stuck, blocked, busy or
// idle, in which Lua line, and what to try.
package explain

import (
	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/ui"
)

// Name is that of Findings as evidence.
const Name = "findings"

// Findings are what there is to know of workers, the most important first.
type Findings []Finding

// A Finding is one thing to know, with what to try.
type Finding struct {
	Code   string `json:"code"`
	Text   string `json:"text"`
	Advice string `json:"advice"`
}

// idle is the code of a worker that does nothing.
const idle = "idle"

// none reports that there is nothing to know but that the worker is idle.
func (f Findings) none() bool { return len(f) == 1 && f[0].Code == idle }

func init() { evidence.Register(Name, func() evidence.Result { return &Findings{} }) }

// Merge is both together.
func (f *Findings) Merge(other evidence.Result) evidence.Result {
	both := append(append(Findings{}, *f...), *other.(*Findings)...)
	return &both
}

// Text draws each with its advice.
func (f *Findings) Text(p *ui.Page, whose string) {
	p.Blank()
	for _, one := range *f {
		p.Para("  ", ui.Clean(one.Text)+whose, p.Strong)
		p.Para("  "+p.Arrow+" ", ui.Sentence(ui.Clean(one.Advice)), lipgloss.NewStyle())
	}
}
