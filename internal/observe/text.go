package observe

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/ui"
)

// Rests says how a probe kept to its budget, and that what did not end within a burst is missing: "a wait or hold".
func Rests(p *ui.Page, d probe.Duty, what string) {
	if d.CostShare() > d.Budget {
		p.FaintLine("That is more than the budget, by what came until it was detached.")
	}
	if d.Probed < d.Elapsed*9/10 {
		p.FaintLine(fmt.Sprintf("To stay within the budget, it was attached in %s; %s that did not end within one is missing.", ui.Plural(d.Bursts, "burst", "bursts"), what))
	}
}
