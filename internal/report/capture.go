package report

import (
	"fmt"
	"io"

	"github.com/moonlap/moonlap/internal/capture"
	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/requests"
	"github.com/moonlap/moonlap/internal/evidence/sleeps"
	"github.com/moonlap/moonlap/internal/ui"
)

// Capture draws what is kept of an event. Its only error is that of w.
func Capture(w io.Writer, c *capture.Capture, opt ui.Options) error {
	p := newPage(opt)
	p.Line(p.Strong.Render("moonlap watch") + p.Faint.Render(p.Dot+fmt.Sprintf("worker %d", c.PID)+p.Dot+ui.Clean(c.Condition)))
	p.Fact("what", ui.Sentence(ui.Clean(c.Text)))
	p.Fact("when", c.At.Format("2006-01-02 15:04:05.000 UTC"))
	p.Fact("line", ui.Clean(c.Line))
	p.Fact("request", ui.Clean(c.Request))
	if s := c.Stall; s != nil {
		p.Fact("turn", p.Join("computed "+p.Time(float64(s.Computed)), "blocked "+p.Time(float64(s.Slept)),
			"without a processor "+p.Time(float64(s.Queued)), ui.Plural(s.Events, "event", "events")+" served"))
	}
	if a := c.Around; a != nil {
		p.Fact("time", p.Join("computed "+p.Time(float64(a.ComputedNS)), "blocked "+p.Time(float64(a.SleptNS)),
			"without a processor "+p.Time(float64(a.QueuedNS)), "of "+p.Time(float64(a.NS))+" around it"))
	}
	p.Fact("kept", p.Join(p.Time(float64(c.BeforeNS))+" before", p.Time(float64(c.LengthNS))+" of it", p.Time(float64(c.AfterNS))+" after"))
	if c.Advice != "" {
		p.Para("  "+p.Arrow+" ", ui.Sentence(ui.Clean(c.Advice)), p.Faint)
	}
	for _, also := range c.Also {
		p.Fact("also", ui.Clean(also))
	}
	if c.More > 0 {
		p.Fact("also", fmt.Sprintf("%d more", c.More))
	}
	if c.Missed > 0 {
		p.Fact("missed", ui.Plural(c.Missed, "event", "events")+" in the pause before this one")
	}
	p.captureLines(c)
	evidence.ListShares(p.Page, "requests, of its time", c.Requests)
	sleeps.List(p.Page, "what put the worker to sleep", c.Blocks)
	p.captureHeap(c)
	requests.Of(c.PID, c.InFlight, len(c.InFlight)).Text(p.Page, "")
	return p.Write(w)
}

// captureLines shows what the lines of an event had before it.
func (p *page) captureLines(c *capture.Capture) {
	p.Section("Lua lines, and what part of the time they took before")
	if len(c.Lines) == 0 {
		p.Para("  ", fmt.Sprintf("None: Lua was on the stack in no look of %d.", c.Looks), p.Faint)
		return
	}
	p.Line(p.Faint.Render(fmt.Sprintf("  %7s %7s", "in it", "before")))
	for i, l := range c.Lines {
		if p.LeftOut(i, len(c.Lines)) {
			break
		}
		before := p.None
		if l.Before > 0 {
			before = ui.Percent(l.Before)
		}
		p.Line(p.Shorten(fmt.Sprintf("  %7s %7s  %s", ui.Percent(l.In), before, ui.Clean(l.Name)), p.Options.Width))
	}
	p.Para("  ", fmt.Sprintf("by %s in it and %s before, computing or blocked",
		ui.Plural(c.Looks, "look", "looks"), ui.Count(c.LooksOf)), p.Faint)
}

// captureHeap draws the course of Lua's heap.
func (p *page) captureHeap(c *capture.Capture) {
	if len(c.Heap) == 0 {
		return
	}
	const columns = 40
	var course []float64
	least, most := c.Heap[0].Bytes, uint64(0)
	for i, r := range c.Heap {
		if at := i * columns / max(columns, len(c.Heap)); at < len(course) {
			course[at] = max(course[at], float64(r.Bytes))
		} else {
			course = append(course, float64(r.Bytes))
		}
		least, most = min(least, r.Bytes), max(most, r.Bytes)
	}
	p.Section("Lua's heap")
	p.Line(fmt.Sprintf("  %s to %s%s", p.Size(float64(least)), p.Size(float64(most)), p.spark(course, float64(most))))
}

// CaptureLine is a capture in short, for a list of them.
func CaptureLine(c *capture.Capture, opt ui.Options) string {
	p := newPage(opt)
	text := p.Join(c.At.Format("2006-01-02 15:04:05.000Z"), fmt.Sprintf("worker %d", c.PID), ui.Clean(c.Text), ui.Clean(c.Line), ui.Clean(c.Request))
	return ui.Unglued(text) + "\n  " + p.Arrow + " " + ui.Clean(c.Folder)
}
