package report

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/explain"
)

// allocated is about what Lua allocated, and what it took to know.
func (s Profile) allocated(p *page) {
	a := s.Allocations
	seconds := s.Duration.Seconds()
	rate := p.size(a.Bytes/seconds) + "/s"
	switch {
	case a.Bytes == 0:
		rate = "nothing"
	case vague(a):
		rate = fmt.Sprintf("at least %s/s; LuaJIT collected garbage too often for its books to be read", p.size(a.Low/seconds))
	case a.High > a.Low:
		rate += fmt.Sprintf(" (%s%s%s)", p.size(a.Low/seconds), p.dash, p.size(a.High/seconds))
	}
	if !vague(a) {
		rate = p.join(rate, few(a.Objects/seconds)+" objects/s")
	}
	p.fact("rate", rate)
	if n := float64(a.Requests); n > 0 && !vague(a) {
		p.fact("request", fmt.Sprintf("%s in %s objects, by %s", p.size(a.Bytes/n), few(a.Objects/n), plural(int(a.Requests), "request", "requests")))
	}
	p.fact("heap", p.size(float64(a.HeapBefore))+" "+p.arrow+" "+p.size(float64(a.HeapAfter)))
	p.fact("looks", p.join(
		fmt.Sprintf("%s in %s", count(s.Looks+s.Lost), p.time(float64(s.Duration))),
		fmt.Sprintf("through eBPF, at allocations, by chance; %s were counted", plural(int(a.Blocks), "object", "objects"))))
	over := ""
	const rounding = 1.1
	if a.Cost > rounding*a.Budget {
		over = "more than the budget"
	}
	p.fact("probed", p.join(
		fmt.Sprintf("%s of the time, in %s", percent(float64(a.Probed)/float64(max(1, a.Elapsed))), plural(a.Windows, "window", "windows")),
		fmt.Sprintf("an allocation takes %s more in one", p.time(float64(a.Each))),
		fmt.Sprintf("%s of the workers' time (--budget %s)", percent(a.Cost), percent(a.Budget)), over))
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
	p.section("Lua lines that allocate")
	rates := ""
	if !vague(a) {
		rates = fmt.Sprintf(" %10s %10s", "bytes/s", "objects/s")
		if a.Requests > 0 {
			rates += fmt.Sprintf(" %10s", "a request")
		}
	}
	p.line(p.faint.Render(fmt.Sprintf("  %6s%s", "share", rates)))
	for i, l := range a.Lines {
		if i == mostLines {
			p.line(p.faint.Render(fmt.Sprintf("  and %d more", len(a.Lines)-i)))
			break
		}
		if !vague(a) {
			rates = fmt.Sprintf(" %10s %10s", p.size(l.Bytes/seconds), few(l.Objects/seconds))
			if a.Requests > 0 {
				rates += fmt.Sprintf(" %10s", p.size(l.Bytes/float64(a.Requests)))
			}
		}
		p.line(p.shorten(fmt.Sprintf("  %6s%s  %s", percent(l.Share), rates, clean(l.Name)), p.opt.Width))
	}
}

// few is a number of objects, to a tenth where it is small.
func few(n float64) string {
	const small = 10
	if n > 0 && n < small {
		return fmt.Sprintf("%.1f", n)
	}
	return count(int64(n))
}
