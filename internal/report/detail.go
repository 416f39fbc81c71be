package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// caseDetail draws what the table has not said of one case: how it ran, its distribution, its modes, and what stands out of
// what the JIT and the collector did. named: its name stands above.
func (p *page) caseDetail(c record.CaseResult, named bool) {
	p.Blank()
	if !named {
		p.Line(p.Strong.Render(p.Shorten(ui.Clean(c.Name), p.Options.Width)))
	}
	p.Fact("ran", p.ran(c))
	if d := c.NSPerCall; d != nil {
		p.Fact("batches", p.Join(batches(c.Batches), p.taken(c)))
		p.Fact("quiet", p.quiet(c.Quiet, d.Estimate))
		p.Fact("spread", p.Join("min "+p.Time(d.Min), "p50 "+p.Time(d.P50), "p90 "+p.Time(d.P90),
			"p99 "+p.Time(d.P99), "max "+p.Time(d.Max)))
	} else {
		p.Fact("time", p.without(c))
	}
	p.modes(c)
	p.laps(c)
	p.Fact("memory", p.memory(c))
	p.Fact("metrics", p.metrics(c.Metrics))
	if c.Processes > 0 && !unremarkable(c.JIT) {
		p.Fact("JIT", p.jitLong(c.JIT))
	}
	p.Fact("profile", p.hotLines(c.Profile))
	if len(c.Modes) > 1 || c.Laps != nil {
		p.Bars(c.Bins)
	} else {
		p.Fact("shape", p.Shape(c.Bins))
	}
}

// unremarkable reports that everything was compiled and stayed so, which the table says.
func unremarkable(j record.JITSummary) bool {
	return j.Compiled == "compiled" && j.Flushes == 0 && len(j.Aborts)+len(j.Blacklisted) == 0
}

// hotLines are the Lua lines that took the most of a case's time, as its profile has it.
func (p *page) hotLines(kept *record.Profile) string {
	if kept == nil {
		return ""
	}
	seen, err := profile.ReadJSON(kept.Profile)
	if err != nil {
		return "it cannot be read: " + ui.Clean(err.Error())
	}
	const most = 3
	var parts []string
	for i, line := range seen.LuaLines() {
		if i == most {
			break
		}
		parts = append(parts, ui.Percent(line.Share)+" "+ui.Clean(line.Name))
	}
	return p.Join(append(parts, "of "+ui.Count(seen.Total())+" samples")...)
}

func (p *page) ran(c record.CaseResult) string {
	steady := map[string]string{
		record.SteadyFlat:     "steady from the start",
		record.SteadyWarmup:   "steady after warming up",
		record.SteadySlowdown: "slowed down, then steady",
		record.SteadyNone:     "never steady",
	}[c.Steady]
	gc := map[string]string{"stopped": "collector stopped", "full": "full collection before each batch"}[c.Case.GC]
	return p.Join(place(record.Source{File: c.Case.File, Line: c.Case.Line}, ui.Clean),
		ui.Plural(c.Processes, "process", "processes")+ui.When(c.Failed > 0, fmt.Sprintf(" and %d that failed", c.Failed)),
		ui.When(c.Case.Workers > 1, fmt.Sprintf("%d workers at once", c.Case.Workers)), gc, steady)
}

// batches says how many there were, and how many are not in the figure; why, where that is more than a fifth.
func batches(b record.BatchTally) string {
	if b.Measured == 0 {
		return ""
	}
	var out []string
	left := 0
	for _, r := range []struct {
		n    int
		text string
	}{
		{b.Unsteady, "not yet steady"}, {b.Traced, "with a new trace"},
		{b.Switched, "interrupted"}, {b.Stolen, "without CPU (steal)"},
	} {
		if r.n > 0 {
			out = append(out, ui.Count(r.n)+" "+r.text)
			left += r.n
		}
	}
	s := ui.Count(b.Measured)
	switch {
	case left > b.Measured/5:
		s += ", left out: " + strings.Join(out, ", ")
	case left > 0:
		s += ", " + ui.Count(left) + " left out"
	}
	return s
}

// quiet says how the figure would read with the disturbed batches, where that matters.
func (p *page) quiet(q *record.Quiet, ns float64) string {
	if !differs(q, ns) {
		return ""
	}
	return fmt.Sprintf("%s of the time, and the figure is of that alone%s%s per call with the rest", ui.Percent(q.Share), p.Dot, p.Time(q.AllNS))
}

// differs reports whether the figure of quiet moments and that of all differ.
func differs(q *record.Quiet, ns float64) bool {
	const same = 0.03
	return q != nil && !q.Disturbed && q.AllNS != 0 && math.Abs(q.AllNS-ns) > same*math.Abs(ns)
}

func (p *page) taken(c record.CaseResult) string {
	if c.EmptyNS == nil {
		return ""
	}
	return "empty loop " + p.Interval(*c.EmptyNS) + " taken off"
}

// without explains a missing figure; of processes that disagree it gives the range,
// never one number.
func (p *page) without(c record.CaseResult) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, pr := range c.PerProcess {
		low, high = math.Min(low, pr.NS), math.Max(high, pr.NS)
	}
	switch {
	case c.Laps != nil:
		return ""
	case c.Steady == record.SteadyNone && low < high:
		return fmt.Sprintf("no figure: it never settled; processes lie from %s to %s", p.Time(low), p.Time(high))
	case c.Steady == record.SteadyNone:
		return "no figure: it never settled on a level"
	}
	return "no figure"
}

func (p *page) modes(c record.CaseResult) {
	if len(c.Modes) < 2 {
		return
	}
	for i, m := range c.Modes {
		text := fmt.Sprintf("%s of processes  %s", ui.Percent(m.Share), p.Time(m.NS))
		if m.Trace != "" {
			text += p.Dot + ui.Clean(m.Trace)
		}
		if !goCode(c) { // there, hardly anything follows from the seed
			text += p.Dot + fmt.Sprintf("replay with seed %.0f", m.Seed)
		}
		p.Fact(ui.When(i == 0, "modes"), text)
	}
}

// memory is what the collector takes, where that is a hundredth or more; the table has what is allocated.
func (p *page) memory(c record.CaseResult) string {
	const little = 0.01
	if c.GCShare == nil || c.GCShare.High < little {
		return ""
	}
	return "collecting garbage takes " + p.ShareRange(*c.GCShare) + " of the time"
}

// metrics are what a Go benchmark reports beside its time, in its own units.
func (p *page) metrics(metrics []record.MetricResult) string {
	var parts []string
	for _, m := range metrics {
		text := ui.Clean(m.Unit) + " " + amount(m.Estimate)
		if low, high := amount(m.Low), amount(m.High); low != high {
			text += " (" + low + p.Dash + high + ")"
		}
		parts = append(parts, text)
	}
	return p.Join(parts...)
}

// amount shows a number of any unit with four digits, or all before the point.
func amount(x float64) string {
	if size := math.Abs(x); size >= 1e4 && size < 1e15 {
		return ui.Count(int64(math.Round(x)))
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

func (p *page) jitLong(j record.JITSummary) string {
	ran := map[string]string{
		"partly": "partly compiled", "interpreted": "interpreted", "compiled": "compiled",
	}[j.Compiled]
	tr := traces(j)
	if tr != "" {
		tr += " traces"
		if j.RootTraces == 1 && j.SideTraces == 0 {
			tr = "1 root trace"
		}
	}
	parts := []string{
		ran, tr, ui.When(j.MCodeBytes > 0, p.Size(j.MCodeBytes)+" of machine code"),
		ui.When(j.Flushes > 0, "all traces flushed "+p.timesText(j.Flushes)),
	}
	for i, a := range j.Aborts {
		if i == 3 {
			parts = append(parts, ui.Plural(len(j.Aborts)-i, "more place", "more places"))
			break
		}
		parts = append(parts, "gave up "+p.timesText(a.Count)+": "+abortText(a, ui.Clean))
	}
	for _, b := range j.Blacklisted {
		parts = append(parts, strings.TrimSpace("blacklisted "+ui.Clean(b.What)+" "+place(b.Source, ui.Clean)))
	}
	return p.Join(parts...)
}

func (p *page) timesText(n int) string {
	if n == 1 {
		return "once"
	}
	return ui.Count(n) + p.Times
}
