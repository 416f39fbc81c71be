package report

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/ui"
)

// allocated is about what Lua allocated, and what it took to know.
func (s Profile) allocated(p *page) {
	a := s.Allocations
	seconds := s.Duration.Seconds()
	rate := p.Size(a.Bytes/seconds) + "/s"
	switch {
	case a.Bytes == 0:
		rate = "nothing"
	case vague(a):
		rate = fmt.Sprintf("at least %s/s; LuaJIT collected garbage too often for its books to be read", p.Size(a.Low/seconds))
	case a.High > a.Low:
		rate += fmt.Sprintf(" (%s%s%s)", p.Size(a.Low/seconds), p.Dash, p.Size(a.High/seconds))
	}
	if !vague(a) {
		rate = p.Join(rate, ui.Few(a.Objects/seconds)+" objects/s")
	}
	p.Fact("rate", rate)
	if n := float64(a.Requests); n > 0 && !vague(a) {
		p.Fact("request", fmt.Sprintf("%s in %s objects, by %s", p.Size(a.Bytes/n), ui.Few(a.Objects/n), ui.Plural(int(a.Requests), "request", "requests")))
	}
	p.Fact("heap", p.Size(float64(a.HeapBefore))+" "+p.Arrow+" "+p.Size(float64(a.HeapAfter)))
	p.Fact("looks", p.Join(
		fmt.Sprintf("%s in %s", ui.Count(s.Looks+s.Lost), p.Time(float64(s.Duration))),
		fmt.Sprintf("through eBPF, at allocations, by chance; %s were counted", ui.Plural(int(a.Blocks), "object", "objects"))))
	over := ""
	const rounding = 1.1
	if a.Cost > rounding*a.Budget {
		over = "more than the budget"
	}
	p.Fact("probed", p.Join(
		fmt.Sprintf("%s of the time, in %s", ui.Percent(float64(a.Probed)/float64(max(1, a.Elapsed))), ui.Plural(a.Windows, "window", "windows")),
		fmt.Sprintf("an allocation takes %s more in one", p.Time(float64(a.Each))),
		fmt.Sprintf("%s of the workers' time (--budget %s)", ui.Percent(a.Cost), ui.Percent(a.Budget)), over))
	s.missing(p)
}

// vague is a rate that is known to no more than its order of magnitude, if that; shares are none the worse.
func vague(a *explain.Allocations) bool {
	const most = 10
	return a.High > most*a.Low
}

// allocatingLines shows which lines allocate most.
func (p *page) allocatingLines(a *explain.Allocations, seconds float64) {
	if len(a.Lines) == 0 {
		return
	}
	p.Section("Lua lines that allocate")
	rates := ""
	if !vague(a) {
		rates = fmt.Sprintf(" %10s %10s", "bytes/s", "objects/s")
		if a.Requests > 0 {
			rates += fmt.Sprintf(" %10s", "a request")
		}
	}
	p.Line(p.Faint.Render(fmt.Sprintf("  %6s%s", "share", rates)))
	for i, l := range a.Lines {
		if i == ui.MostLines {
			p.Line(p.Faint.Render(fmt.Sprintf("  and %d more", len(a.Lines)-i)))
			break
		}
		if !vague(a) {
			rates = fmt.Sprintf(" %10s %10s", p.Size(l.Bytes/seconds), ui.Few(l.Objects/seconds))
			if a.Requests > 0 {
				rates += fmt.Sprintf(" %10s", p.Size(l.Bytes/float64(a.Requests)))
			}
		}
		p.Line(p.Shorten(fmt.Sprintf("  %6s%s  %s", ui.Percent(l.Share), rates, ui.Clean(l.Name)), p.Options.Width))
	}
}
