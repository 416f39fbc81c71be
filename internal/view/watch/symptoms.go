package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/evidence/collector"
	"github.com/moonlap/moonlap/internal/evidence/requests"
	"github.com/moonlap/moonlap/internal/ui"
)

// From here on something is worth a line at the top of 'moonlap watch'.
const (
	longWait        = 50 * time.Millisecond // of an event for the event loop
	oldRequest      = time.Second
	busyProcessor   = 0.9
	muchQueueing    = 0.2
	muchGarbage     = 0.2  // of the time
	muchInterpreted = 0.25 // of the interval
	fullZone        = 0.97
	fewConnections  = 0.9 // of the limit
	mostSymptoms    = 4
)

// A symptom is what is wrong, and the command that says more.
type symptom struct {
	what, next string
	weight     float64 // how many times what is worth a line; the heaviest first
}

// symptoms draws what is wrong, the worst first, each with the command to type next; what is not there is said in one line.
func (p *page) symptoms(s Snapshot) {
	var all []symptom
	for _, r := range s.Workers {
		if r.Error == "" {
			all = append(all, p.symptomsOf(r)...)
		}
	}
	for _, m := range s.Masters {
		for _, z := range m.Zones {
			if z.Failed > 0 || z.Fill() >= fullZone {
				all = append(all, symptom{
					fmt.Sprintf("shared memory %s is %s full; %s found no room", ui.Clean(z.Name), ui.Percent(z.Fill()), ui.Plural(int(z.Failed), "allocation", "allocations")),
					fmt.Sprintf("moonlap watch --master %d --dicts --top 10 --once", m.PID), 1,
				})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b symptom) int { return cmp.Compare(b.weight, a.weight) })
	if h := s.Host; h != nil && h.Slowed() >= slowHost { // behind what befalls requests, and shown all the same
		all = slices.Insert(all, min(len(all), mostSymptoms-1), symptom{what: p.slowHost(h), next: "moonlap doctor --noise 1m"})
	}
	if len(all) == 0 {
		if s.Seen() > 0 {
			p.Para("  ", fmt.Sprintf("Nothing stands out: no event waited for %v, no request is older than %v, no processor or zone is full.", longWait, oldRequest), p.Good)
		}
		return
	}
	for _, one := range all[:min(len(all), mostSymptoms)] {
		p.Para("  ! ", one.what, p.Bad)
		p.Para("    "+p.Arrow+" ", one.next, p.Strong)
	}
	p.Rest(mostSymptoms, len(all))
}

const (
	slowHost = 0.10 // of an interval's work: from there on the machine stands out
	busyHost = 0.50 // of its processors in use: from there on its own load may be what shares a core
)

// slowHost reports that the machine is slow, and whose doing that may be.
func (p *page) slowHost(h *Host) string {
	what := fmt.Sprintf("the machine was slowed by %s for %s of the interval", ui.Percent(h.Slower), ui.Percent(1-h.Quiet))
	if h.Busy >= busyHost {
		return what + fmt.Sprintf(": by its own load on shared cores (processors %s busy), or by a neighbour on the host", ui.Percent(h.Busy))
	}
	return what + fmt.Sprintf(" by a neighbour on the host, or its clock rate fell: its own processors were %s busy", ui.Percent(h.Busy))
}

func (p *page) symptomsOf(r Row) (all []symptom) {
	add := func(x, limit float64, next, format string, args ...any) {
		if x >= limit {
			what := fmt.Sprintf("worker %d: ", r.PID) + fmt.Sprintf(format, args...)
			all = append(all, symptom{what, strings.ReplaceAll(next, "PID", fmt.Sprint(r.PID)), x / limit})
		}
	}
	if l := r.Loop; l != nil {
		add(float64(l.Most), float64(longWait), fmt.Sprintf("moonlap profile --pid PID --stalls %v", longWait),
			"an event waited %s for the event loop", p.Millis(l.Most))
	}
	if q, ok := r.Evidence[requests.Name].(*requests.Result); ok {
		age := q.Age()
		what := ""
		if age > 0 {
			oldest := q.Workers[0].Oldest[0]
			what = strings.TrimSpace(oldest.Method + " " + oldest.URI)
		}
		add(float64(age), float64(oldRequest), "moonlap explain --pid PID", "a request is %s old: %s", p.Time(float64(age)), ui.Clean(p.Shorten(ui.Clean(what), 60)))
	}
	add(r.CPU, busyProcessor, "moonlap profile --pid PID --out profile.html", "it uses %s of a processor", ui.Percent(r.CPU))
	add(r.Wait, muchQueueing, "moonlap doctor", "for %s of the time it wanted to run, and others had the processor", ui.Percent(r.Wait))
	if g, ok := r.Evidence[collector.Name].(*collector.Result); ok && len(g.Workers) > 0 {
		share := g.Workers[0].Share.Estimate
		add(share, muchGarbage, "moonlap profile --pid PID --allocations", "Lua's garbage collector takes %s of the time", ui.Percent(share))
	}
	interpreted := r.Lua * r.States["interpreted"]
	add(interpreted, muchInterpreted, "moonlap profile --pid PID", "Lua is interpreted for %s of the time, not compiled", ui.Percent(interpreted))
	if c := r.Connections; c != nil && c.Limit > 0 {
		add(float64(c.Most), fewConnections*float64(c.Limit), "moonlap explain --pid PID", "%d of %d connections (worker_connections) were in use", c.Most, c.Limit)
	}
	for _, pool := range r.Pools {
		add(float64(pool.Waiting), 1, "moonlap explain --pid PID", "%s for the cosocket pool %s, which is full", ui.Plural(pool.Waiting, "connect waits", "connects wait"), ui.Clean(p.Shorten(pool.Name, 40)))
	}
	return all
}
