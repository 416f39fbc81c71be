package allocations

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/ui"
)

// Text shows what Lua allocated, what it took to know, and which lines allocate most.
func (r *Result) Text(p *ui.Page, whose string) {
	p.Section("allocations" + whose)
	seconds := max(r.Duration.Seconds(), 1e-9)
	rate := p.Size(r.Bytes/seconds) + "/s"
	switch {
	case r.Bytes == 0:
		rate = "nothing"
	case r.vague():
		rate = fmt.Sprintf("at least %s/s; LuaJIT collected garbage too often for its books to be read", p.Size(r.Low/seconds))
	case r.High > r.Low:
		rate += fmt.Sprintf(" (%s%s%s)", p.Size(r.Low/seconds), p.Dash, p.Size(r.High/seconds))
	}
	if !r.vague() {
		rate = p.Join(rate, ui.Few(r.Objects/seconds)+" objects/s")
	}
	p.Fact("rate", rate)
	if n := float64(r.Requests); n > 0 && !r.vague() {
		p.Fact("request", fmt.Sprintf("%s in %s objects, by %s", p.Size(r.Bytes/n), ui.Few(r.Objects/n), ui.Plural(int(r.Requests), "request", "requests")))
	}
	p.Fact("heap", p.Size(float64(r.HeapBefore))+" "+p.Arrow+" "+p.Size(float64(r.HeapAfter)))
	p.Fact("samples", p.Join(
		fmt.Sprintf("%s in %s", ui.Count(r.Samples), p.Time(float64(r.Duration))),
		fmt.Sprintf("through eBPF, at allocations, by chance; %s were counted", ui.Plural(int(r.Blocks), "object", "objects"))))
	const rounding = 1.1
	cost := r.CostShare()
	p.Fact("probed", p.Join(
		fmt.Sprintf("%s of the time, in %s", ui.Percent(float64(r.Probed)/float64(max(1, r.Elapsed))), ui.Plural(r.Windows, "window", "windows")),
		fmt.Sprintf("an allocation takes %s more in one", p.Time(float64(r.Each))),
		fmt.Sprintf("%s of the workers' time (--budget %s)", ui.Percent(cost), ui.Percent(r.Budget)),
		ui.When(cost > rounding*r.Budget, "more than the budget")))
	r.lines(p, whose, seconds)
}

// vague is a rate that is known to no more than its order of magnitude, if that; shares are none the worse.
func (r *Result) vague() bool {
	const most = 10
	return r.High > most*r.Low
}

func (r *Result) lines(p *ui.Page, whose string, seconds float64) {
	if len(r.Lines) == 0 {
		return
	}
	p.Section("Lua lines that allocate" + whose)
	rates := ""
	if !r.vague() {
		rates = fmt.Sprintf(" %10s %10s", "bytes/s", "objects/s")
		if r.Requests > 0 {
			rates += fmt.Sprintf(" %10s", "a request")
		}
	}
	p.Line(p.Faint.Render(fmt.Sprintf("  %6s%s", "share", rates)))
	for l := range ui.First(p, r.Lines) {
		if !r.vague() {
			rates = fmt.Sprintf(" %10s %10s", p.Size(l.Bytes/seconds), ui.Few(l.Objects/seconds))
			if r.Requests > 0 {
				rates += fmt.Sprintf(" %10s", p.Size(l.Bytes/float64(r.Requests)))
			}
		}
		p.Line(p.Shorten(fmt.Sprintf("  %6s%s  %s", ui.Percent(l.Share), rates, ui.Clean(l.Name)), p.Options.Width))
	}
}
