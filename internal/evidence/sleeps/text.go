package sleeps

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/ui"
)

// Text shows what put workers to sleep.
func (r *Result) Text(p *ui.Page, whose string) {
	List(p, "what put the worker to sleep"+whose, r.Blocks)
}

// Facts are where the time went, for a page's head.
func (r *Result) Facts(p *ui.Page, duration time.Duration) {
	t := r.Times
	share := func(d time.Duration) float64 { return float64(d) / float64(max(1, t.Elapsed)) }
	part := func(d time.Duration, what string) string {
		return ui.When(d != 0, what+" "+ui.Percent(share(d)))
	}
	p.Fact("time", p.Join(
		p.Time(float64(duration))+", through eBPF",
		part(t.Computed, "computed"), part(t.Idle, "waited for events"), part(t.Slept, "was blocked"),
		part(t.Queued, "waited for a processor"), part(t.Halted, "was halted by a signal or a tracer")))
	const much = 0.05
	if share(t.Unknown) > much {
		p.Fact("unknown", ui.Percent(share(t.Unknown))+" of the time: the worker had ended, or nothing was heard of it")
	}
	if t.Unseen > 0 {
		p.Fact("unseen", fmt.Sprintf("%s of %s sleeps (%s), without stacks: they began before, or came faster than 2,000 a second",
			ui.Count(t.Unseen), ui.Count(t.Sleeps), p.Time(float64(t.UnseenFor))))
	}
}

// List draws blocks under a title.
func List(p *ui.Page, title string, all []Block) {
	if len(all) == 0 {
		return
	}
	p.Section(title)
	p.Line(p.Faint.Render(fmt.Sprintf("  %9s %9s %7s", "total", "longest", "times")))
	advised := map[string]bool{}
	for b := range ui.First(p, all) {
		figures := fmt.Sprintf("  %9s %9s %7s  ", p.Time(float64(b.Total)), p.Time(float64(b.Longest)), ui.Count(b.Count))
		p.Para(figures, ui.Clean(p.Join(p.Call(b.Line, b.Called), fmt.Sprintf("%s (%s)", b.Cause, b.Call), b.URI, b.Phase)), lipgloss.NewStyle())
		if b.Advice != "" && !advised[b.Advice] {
			advised[b.Advice] = true
			p.Para(strings.Repeat(" ", len(figures)), b.Advice, p.Faint)
		}
	}
}
