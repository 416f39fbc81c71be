package turns

import (
	"fmt"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/ui"
)

// Text shows how long turns took, and those that took long.
func (r *Result) Text(p *ui.Page, whose string) {
	if r.Threshold == 0 {
		if r.Held != nil {
			p.Fact("loop", fmt.Sprintf("one turn of the event loop%s had taken at least %s, in %s; --stalls 10ms lists each",
				whose, p.Time(float64(r.Held.For)), ui.Clean(r.Held.Line)))
		}
		return
	}
	p.Section("event loop" + whose)
	if r.Lengths.Count == 0 {
		p.Para("  ", "No turn was seen: no event came, or nginx waits for them in another way than epoll.", p.Faint)
	} else {
		at := func(what string, d time.Duration) string { return what + " " + p.Time(float64(d)) }
		l := r.Lengths
		p.Fact("turns", p.Join(ui.Count(l.Count), at("median", l.Median), at("99 %", l.P99), at("99.9 %", r.P999), at("longest", l.Longest)))
	}
	r.stalls(p)
}

func (r *Result) stalls(p *ui.Page) {
	sum := time.Duration(0)
	for _, s := range r.Stalls {
		sum += s.Length
	}
	p.Section(fmt.Sprintf("turns of %s and more: %s", p.Time(float64(r.Threshold)), ui.Count(len(r.Stalls))))
	if len(r.Stalls) == 0 {
		return
	}
	p.Line(p.Faint.Render(fmt.Sprintf("  %8s %9s %9s %9s %9s %7s", "at", "length", "computed", "blocked", "no CPU", "events")))
	for s := range ui.First(p, r.Stalls) {
		figures := fmt.Sprintf("  %6.2f s %9s %9s %9s %9s %7s  ", s.Start.Seconds(), p.Time(float64(s.Length)),
			p.Time(float64(s.Computed)), p.Time(float64(s.Slept)), p.Time(float64(s.Queued)), ui.Count(s.Events))
		what := "no sample fell into it"
		if s.Samples > 0 {
			what = "no Lua"
		}
		if len(s.Lines) > 0 {
			what = s.Lines[0].Name + " " + ui.Percent(s.Lines[0].Share)
		}
		uri := ""
		if len(s.URIs) > 0 {
			uri = s.URIs[0].Name
		}
		p.Line(strings.TrimRight(figures, " "))
		p.Para("            ", ui.Clean(p.Join(what, uri)), p.Faint)
	}
	p.Para("  ", fmt.Sprintf("%s in all, in which no other request went on", p.Time(float64(sum))), p.Faint)
}
