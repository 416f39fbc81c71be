package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/lap/lapplot"
)

// Kinds of marks of a timeline.
const (
	traceMark = "trace recorded or aborted"
	gcMark    = "full collection before a series"
)

// palePoints is how many points the batches that do not count may take, of all cases.
const palePoints = 2000

// A process takes this share of its place on the axis, so that neighbours stand apart.
const processShare = 0.9

// timelines are one chart of batches over time, process beside process in order of start,
// which the rounds number; none where no batch was timed.
func timelines(lines []line) []*lapplot.Chart {
	slots := slotsOf(lines)
	first, longest := extent(lines)
	if math.IsInf(first, 1) {
		return nil // single calls alone were timed
	}
	c := &lapplot.Chart{
		Title: "Timeline of batches",
		X:     lapplot.Axis{Title: "time since the process began", Unit: lapplot.Time},
		Y:     lapplot.Axis{Title: "time per call", Unit: lapplot.Time},
	}
	place := func(_ *record.ProcessRecord, at float64) float64 { return at }
	if len(slots) > 1 {
		c.X = lapplot.Axis{Title: "process, and the time within it", Labels: labelsOf(slots)}
		number := map[slot]int{}
		for i, s := range slots {
			number[s] = i
		}
		place = func(p *record.ProcessRecord, at float64) float64 {
			return float64(number[slotOf(p)]) + processShare*((at-first)/longest-0.5)
		}
	}
	left, stopped := 0, false
	for _, l := range lines {
		counted, pale := l.courses(place)
		left += len(pale.Points)
		stopped = stopped || l.plan.GC == "full"
		if len(pale.Points) > 0 {
			c.Series = append(c.Series, pale)
		}
		c.Series = append(c.Series, counted)
	}
	c.Y.Scale = scaleOf(c.Series)
	if left > 0 {
		note := fmt.Sprintf("pale: %d batches that are not in the figures, for warm-up, a trace or an interruption; "+
			"those far off stand at the edge", left)
		if every := (left + palePoints - 1) / palePoints; every > 1 {
			thin(c.Series, every)
			note += fmt.Sprintf("; one of %d is drawn", every)
		}
		c.Notes = append(c.Notes, note)
	}
	if stopped {
		c.Notes = append(c.Notes, "--gc full: a full collection comes before each batch and is not marked")
	}
	return []*lapplot.Chart{c}
}

// thin leaves one of N pale points.
func thin(series []lapplot.Series, every int) {
	for i, s := range series {
		if !s.Pale {
			continue
		}
		var kept []lapplot.Point
		for k := 0; k < len(s.Points); k += every {
			kept = append(kept, s.Points[k])
		}
		series[i].Points = kept
	}
}

// A slot is a place on the axis: a process, or a worker in it, of every case.
type slot struct{ round, worker int }

func slotOf(p *record.ProcessRecord) slot { return slot{p.Process.Round, p.Process.Worker} }

func (s slot) compare(o slot) int {
	return cmp.Or(cmp.Compare(s.round, o.round), cmp.Compare(s.worker, o.worker))
}

// slotsOf are the slots of all cases, in order.
func slotsOf(lines []line) []slot {
	var slots []slot
	for _, l := range lines {
		for _, v := range l.vms {
			if !slices.Contains(slots, slotOf(v.said)) {
				slots = append(slots, slotOf(v.said))
			}
		}
	}
	slices.SortFunc(slots, slot.compare)
	return slots
}

// labelsOf numbers processes from 1, and workers as nginx does, where there are several.
func labelsOf(slots []slot) []string {
	several := slices.ContainsFunc(slots, func(s slot) bool { return s.worker > 0 })
	labels := make([]string, len(slots))
	for i, s := range slots {
		labels[i] = strconv.Itoa(s.round + 1)
		if several {
			labels[i] += fmt.Sprintf(", worker %d", s.worker)
		}
	}
	return labels
}

// extent is when the earliest batch of a process began, and how long it took from there to
// the latest.
func extent(lines []line) (first, longest float64) {
	first, last := math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, v := range l.vms {
			if n := len(v.course); n > 0 {
				first, last = math.Min(first, v.course[0].AtNS), math.Max(last, v.course[n-1].AtNS)
			}
		}
	}
	return first, math.Max(1, last-first)
}

// courses are the batches that make the figures, with the marks, and those that do not.
func (l *line) courses(place func(p *record.ProcessRecord, at float64) float64) (counted, pale lapplot.Series) {
	counted = lapplot.Series{Name: l.name}
	pale = lapplot.Series{Name: l.name, Style: lapplot.Dots, Pale: true}
	for _, v := range l.vms {
		for i, m := range v.course {
			x := place(v.said, m.AtNS)
			if m.Counts {
				counted.Points = append(counted.Points, lapplot.At(x, m.NetNS))
			} else {
				pale.Points = append(pale.Points, lapplot.Point{X: x, Y: m.NetNS, Low: m.NetNS, High: m.NetNS, Label: why(m)})
			}
			if m.Traced {
				counted.Marks = append(counted.Marks, lapplot.Mark{X: x, Kind: traceMark})
			}
			begins := !m.Warmup && (i == 0 || v.course[i-1].Warmup || v.course[i-1].Series != m.Series)
			if begins && l.collectsBeforeSeries() {
				counted.Marks = append(counted.Marks, lapplot.Mark{X: x, Kind: gcMark})
			}
		}
		if n := len(v.course); n > 0 {
			counted.Points = append(counted.Points, lapplot.Gap(place(v.said, v.course[n-1].AtNS)))
		}
	}
	return counted, pale
}

// collectsBeforeSeries reports whether series begin with a full collection that is worth a mark:
// the Lua harness does so; of Go's collections the record says nothing.
func (l *line) collectsBeforeSeries() bool { return l.plan.GC != "full" && l.plan.Runtime != "go" }

// why is the reason that a batch is not in the figure.
func why(m stat.Moment) string {
	switch {
	case m.Warmup:
		return "warm-up"
	case m.Traced:
		return "left out: a trace fell into it"
	case m.Polluted:
		return "left out: a context switch or the hypervisor fell into it"
	}
	return "left out: not in the steady state"
}

// wide is how many times the smallest level the greatest must be for a logarithmic axis.
const wide = 30

// scaleOf is logarithmic where the batches that count lie far apart.
func scaleOf(series []lapplot.Series) lapplot.Scale {
	least, most := math.Inf(1), 0.0
	for _, s := range series {
		for _, p := range s.Points {
			if !s.Pale && p.Y > 0 {
				least, most = math.Min(least, p.Y), math.Max(most, p.Y)
			}
		}
	}
	if most > wide*least {
		return lapplot.Log
	}
	return lapplot.Linear
}
