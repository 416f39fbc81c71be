package capture

import (
	"fmt"
	"io"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/requests"
	"github.com/moonlap/moonlap/internal/evidence/sleeps"
	"github.com/moonlap/moonlap/internal/ui"
)

// Summary draws the page of a capture. Its only error is that of w.
func (c *Capture) Summary(w io.Writer, opt ui.Options) error {
	p := ui.NewPage(opt)
	p.Line(p.Strong.Render("moonlap watch") + p.Faint.Render(p.Dot+fmt.Sprintf("worker %d", c.PID)+p.Dot+ui.Clean(c.Condition)))
	c.Text(p, "")
	return p.Write(w)
}

// Text draws what happened, and what was different.
func (c *Capture) Text(p *ui.Page, _ string) {
	p.Fact("what", ui.Sentence(ui.Clean(c.What)))
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
	c.lines(p)
	evidence.ListShares(p, "requests, of its time", c.Requests)
	sleeps.List(p, "what put the worker to sleep", c.Blocks)
	c.course(p)
	requests.Of(c.PID, c.InFlight, len(c.InFlight)).Text(p, "")
}

// Merge is the one that came first, which names the other.
func (c *Capture) Merge(other evidence.Result) evidence.Result {
	o := other.(*Capture)
	first, later := *c, o
	if o.At.Before(c.At) {
		first, later = *o, c
	}
	first.Also = append(append(append([]string{}, first.Also...), later.What), later.Also...)
	return &first
}

// lines shows what the lines of an event had before it.
func (c *Capture) lines(p *ui.Page) {
	p.Section("Lua lines, and what part of the time they took before")
	if len(c.Lines) == 0 {
		p.Para("  ", fmt.Sprintf("None: Lua was on the stack in no sample of %d.", c.Samples), p.Faint)
		return
	}
	p.Line(p.Faint.Render(fmt.Sprintf("  %7s %7s", "in it", "before")))
	for l := range ui.First(p, c.Lines) {
		before := p.None
		if l.Before > 0 {
			before = ui.Percent(l.Before)
		}
		p.Line(p.Shorten(fmt.Sprintf("  %7s %7s  %s", ui.Percent(l.In), before, ui.Clean(l.Name)), p.Options.Width))
	}
	p.Para("  ", fmt.Sprintf("by %s in it and %s before, computing or blocked",
		ui.Plural(c.Samples, "sample", "samples"), ui.Count(c.SamplesBefore)), p.Faint)
}

// course draws the course of Lua's heap.
func (c *Capture) course(p *ui.Page) {
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
	p.Line(fmt.Sprintf("  %s to %s%s", p.Size(float64(least)), p.Size(float64(most)), p.Spark(course, float64(most))))
}

// Short is a capture in short, for a list of them.
func (c *Capture) Short(opt ui.Options) string {
	p := ui.NewPage(opt)
	text := p.Join(c.At.Format("2006-01-02 15:04:05.000Z"), fmt.Sprintf("worker %d", c.PID), ui.Clean(c.What), ui.Clean(c.Line), ui.Clean(c.Request))
	return ui.Unglued(text) + "\n  " + p.Arrow + " " + ui.Clean(c.Folder)
}
