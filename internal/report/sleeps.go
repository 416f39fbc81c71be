package report

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/ui"
)

// times is about what the kernel told of each switch to and from a worker.
func (s Profile) times(p *page) {
	t := s.Found.Times
	part := func(ns int64, what string) string {
		if ns == 0 {
			return ""
		}
		return what + " " + ui.Percent(float64(ns)/float64(max(1, t.Elapsed)))
	}
	p.Fact("time", p.Join(
		p.Time(float64(s.Duration))+", through eBPF; nothing was stopped",
		part(t.Computed, "computed"), part(t.Idle, "waited for events"), part(t.Slept, "was blocked"),
		part(t.Queued, "waited for a processor"), part(t.Halted, "was halted by a signal or a tracer")))
	if share := float64(t.Unknown) / float64(max(1, t.Elapsed)); share > 0.05 {
		p.Fact("unknown", ui.Percent(share)+" of the time: the worker had ended, or nothing was heard of it")
	}
	if t.Unseen > 0 {
		p.Fact("unseen", fmt.Sprintf("%s of %s sleeps (%s), without stacks: they began before, or came faster than 2,000 a second",
			ui.Count(t.Unseen), ui.Count(t.Sleeps), p.Time(float64(t.UnseenNS))))
	}
	s.missing(p)
}

// found shows what stopped the event loop.
func (p *page) found(f explain.Found) {
	p.blocks(f.Blocks)
	if f.Loop != nil {
		p.loop(*f.Loop)
		p.stalls(f.Stalls, f.Loop.Long)
	}
}

func (p *page) blocks(all []explain.Block) {
	if len(all) == 0 {
		return
	}
	p.Section("what put the worker to sleep")
	p.Line(p.Faint.Render(fmt.Sprintf("  %9s %9s %7s", "total", "longest", "times")))
	advised := map[string]bool{}
	for i, b := range all {
		if i == ui.MostLines {
			p.Line(p.Faint.Render(fmt.Sprintf("  and %d more", len(all)-i)))
			break
		}
		figures := fmt.Sprintf("  %9s %9s %7s  ", p.Time(float64(b.TotalNS)), p.Time(float64(b.LongestNS)), ui.Count(b.Count))
		name := p.Call(b.Line, b.Called)
		p.Para(figures, ui.Clean(p.Join(name, fmt.Sprintf("%s (%s)", b.Cause, b.Call), b.URI, b.Phase)), lipgloss.NewStyle())
		if b.Advice != "" && !advised[b.Advice] {
			advised[b.Advice] = true
			p.Para(strings.Repeat(" ", len(figures)), b.Advice, p.Faint)
		}
	}
}

// loop is one line about how long turns of the event loop took.
func (p *page) loop(l explain.Loop) {
	p.Section("event loop")
	if l.Turns == 0 {
		p.Para("  ", "No turn was seen: no event came, or nginx waits for them in another way than epoll.", p.Faint)
		return
	}
	at := func(what string, ns int64) string { return what + " " + p.Time(float64(ns)) }
	p.Fact("turns", p.Join(ui.Count(l.Turns), at("median", l.Median), at("99 %", l.P99), at("99.9 %", l.P999), at("longest", l.Longest)))
}

func (p *page) stalls(all []explain.Stall, long int64) {
	sum := int64(0)
	for _, s := range all {
		sum += s.LengthNS
	}
	p.Section(fmt.Sprintf("turns of %s and more: %s", p.Time(float64(long)), ui.Count(len(all))))
	if len(all) == 0 {
		return
	}
	p.Line(p.Faint.Render(fmt.Sprintf("  %8s %9s %9s %9s %9s %7s", "at", "length", "computed", "blocked", "no CPU", "events")))
	for i, s := range all {
		if i == ui.MostLines {
			p.Line(p.Faint.Render(fmt.Sprintf("  and %d more", len(all)-i)))
			break
		}
		figures := fmt.Sprintf("  %6.2f s %9s %9s %9s %9s %7s  ", time.Duration(s.StartNS).Seconds(), p.Time(float64(s.LengthNS)),
			p.Time(float64(s.ComputedNS)), p.Time(float64(s.SleptNS)), p.Time(float64(s.QueuedNS)), ui.Count(s.Events))
		what := "no look fell into it"
		if s.Looks > 0 {
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
