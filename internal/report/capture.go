package report

import (
	"fmt"
	"io"

	"github.com/moonlap/moonlap/internal/capture"
	"github.com/moonlap/moonlap/internal/watch"
)

// Capture draws what is kept of an event. Its only error is that of w.
func Capture(w io.Writer, c *capture.Capture, opt Options) error {
	p := newPage(opt)
	p.line(p.strong.Render("moonlap watch") + p.faint.Render(p.dot+fmt.Sprintf("worker %d", c.PID)+p.dot+clean(c.Condition)))
	p.fact("what", sentence(clean(c.Text)))
	p.fact("when", c.At.Format("2006-01-02 15:04:05.000 UTC"))
	p.fact("line", clean(c.Line))
	p.fact("request", clean(c.Request))
	if s := c.Stall; s != nil {
		p.fact("turn", p.join("computed "+p.time(float64(s.ComputedNS)), "blocked "+p.time(float64(s.SleptNS)),
			"without a processor "+p.time(float64(s.QueuedNS)), plural(s.Events, "event", "events")+" served"))
	}
	if a := c.Around; a != nil {
		p.fact("time", p.join("computed "+p.time(float64(a.ComputedNS)), "blocked "+p.time(float64(a.SleptNS)),
			"without a processor "+p.time(float64(a.QueuedNS)), "of "+p.time(float64(a.NS))+" around it"))
	}
	p.fact("kept", p.join(p.time(float64(c.BeforeNS))+" before", p.time(float64(c.LengthNS))+" of it", p.time(float64(c.AfterNS))+" after"))
	if c.Advice != "" {
		p.para("  "+p.arrow+" ", sentence(clean(c.Advice)), p.faint)
	}
	for _, also := range c.Also {
		p.fact("also", clean(also))
	}
	if c.More > 0 {
		p.fact("also", fmt.Sprintf("%d more", c.More))
	}
	if c.Missed > 0 {
		p.fact("missed", plural(c.Missed, "event", "events")+" in the pause before this one")
	}
	p.captureLines(c)
	p.shares("requests, of its time", c.Requests)
	p.blocks(c.Blocks)
	p.captureHeap(c)
	p.watchRequests(watch.Snapshot{Workers: []watch.Row{{PID: c.PID, InFlight: len(c.InFlight), Requests: c.InFlight}}})
	return p.writeTo(w)
}

// captureLines shows what the lines of an event had before it.
func (p *page) captureLines(c *capture.Capture) {
	p.section("Lua lines, and what part of the time they took before")
	if len(c.Lines) == 0 {
		p.para("  ", fmt.Sprintf("None: Lua was on the stack in no look of %d.", c.Looks), p.faint)
		return
	}
	p.line(p.faint.Render(fmt.Sprintf("  %7s %7s", "in it", "before")))
	for i, l := range c.Lines {
		if i == mostLines {
			p.line(p.faint.Render(fmt.Sprintf("  and %d more", len(c.Lines)-i)))
			break
		}
		before := p.none
		if l.Before > 0 {
			before = percent(l.Before)
		}
		p.line(p.shorten(fmt.Sprintf("  %7s %7s  %s", percent(l.In), before, clean(l.Name)), p.opt.Width))
	}
	p.para("  ", fmt.Sprintf("by %s in it and %s before, computing or blocked",
		plural(c.Looks, "look", "looks"), count(c.LooksOf)), p.faint)
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
	p.section("Lua's heap")
	p.line(fmt.Sprintf("  %s to %s%s", p.size(float64(least)), p.size(float64(most)), p.spark(course, float64(most))))
}

// CaptureLine is a capture in short, for a list of them.
func CaptureLine(c *capture.Capture, opt Options) string {
	p := newPage(opt)
	text := p.join(c.At.Format("2006-01-02 15:04:05.000Z"), fmt.Sprintf("worker %d", c.PID), clean(c.Text), clean(c.Line), clean(c.Request))
	return unglue.Replace(text) + "\n  " + p.arrow + " " + clean(c.Folder)
}
