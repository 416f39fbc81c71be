package watch

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/collector"
	"github.com/moonlap/moonlap/internal/evidence/dicts"
	"github.com/moonlap/moonlap/internal/evidence/requests"
	"github.com/moonlap/moonlap/internal/evidence/timers"
	"github.com/moonlap/moonlap/internal/evidence/toplines"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/ui"
)

type page struct{ *ui.Page }

// Draw draws what was seen of workers over an interval: first what is wrong, then a line for each in two tables, then lists of
// what there is to name. Its only error is that of w.
func Draw(w io.Writer, s Snapshot, at time.Time, opt ui.Options) error {
	p := &page{ui.NewPage(opt)}
	p.Line(p.Strong.Render("moonlap watch") + p.Faint.Render(p.Dot+at.Format(time.TimeOnly)))
	p.symptoms(s)
	for _, m := range s.Masters {
		m.Evidence.Text(p.Page, ofMaster(s, m), toplines.Name)
	}
	p.Blank()
	p.watchUse(s)
	p.watchServing(s)
	p.watchMasters(s)
	p.watchLua(s)
	p.evidenceOf(s, collector.Name)
	p.watchStream(s)
	p.evidenceOf(s, requests.Name, timers.Name)
	p.watchPools(s)
	p.watchZones(s)
	for _, m := range s.Masters {
		m.Evidence.Text(p.Page, ofMaster(s, m), dicts.Name)
		m.Evidence.Text(p.Page, ofMaster(s, m), m.Evidence.Others(dicts.Name, toplines.Name)...)
	}
	p.watchCompiler(s)
	p.watchNotes(s)
	return p.Write(w)
}

// ofMaster tells nginx's masters apart, where there are several.
func ofMaster(s Snapshot, m Master) string {
	if len(s.Masters) < 2 {
		return ""
	}
	return fmt.Sprintf(" of nginx %d", m.PID)
}

// watchUse is what each worker took.
func (p *page) watchUse(s Snapshot) {
	headers := []string{"worker", "CPU", "queue", "Lua", "mostly", "heap", "GC at", "traces", "RSS", "sockets", "switches/s", "I/O /s"}
	p.rows(s, headers, func(r Row) []string {
		sockets, next := p.None, p.nextGC(r.GC)
		if r.Sockets >= 0 {
			sockets = fmt.Sprint(r.Sockets)
		}
		return []string{
			fmt.Sprint(r.PID), ui.Percent(r.CPU), ui.Percent(r.Wait), ui.Percent(r.Lua), r.StateOf(), p.Size(float64(r.Heap)), next,
			fmt.Sprint(r.Traces), p.Size(float64(r.RSS)), sockets,
			fmt.Sprintf("%.0f", r.Voluntary+r.Involuntary), p.Size(r.Read + r.Write),
		}
	}, 4)
}

// nextGC is the size of the heap at which the collector goes on.
func (p *page) nextGC(gc *GC) string {
	switch {
	case gc == nil:
		return p.None
	case gc.Stopped:
		return "stopped"
	}
	return p.Size(float64(gc.Threshold))
}

// watchServing is what each worker serves, and how fast its event loop turns.
func (p *page) watchServing(s Snapshot) {
	headers := []string{"worker", "in flight", "oldest", "connections", "most", "limit", "loop p50", "p99", "longest", "timers", "next due"}
	p.rows(s, headers, func(r Row) []string {
		row := []string{fmt.Sprint(r.PID), p.None, p.None, p.None, p.None, p.None, p.None, p.None, p.None, p.None, p.None}
		if q, ok := r.Evidence[requests.Name].(*requests.Result); ok {
			row[1] = fmt.Sprint(q.Workers[0].Count)
			if age := q.Age(); age > 0 {
				row[2] = p.Time(float64(age))
			}
		}
		if c := r.Connections; c != nil {
			row[3], row[4], row[5] = fmt.Sprintf("%.1f", c.Average), fmt.Sprint(c.Most), fmt.Sprint(c.Limit)
		}
		if l := r.Loop; l != nil {
			row[6], row[7], row[8] = p.Millis(l.P50), p.Millis(l.P99), p.Millis(l.Most)
		}
		if t, ok := r.Evidence[timers.Name].(*timers.Result); ok {
			row[9] = fmt.Sprint(t.Workers[0].Pending)
			if next := t.Workers[0].Next; next != nil {
				row[10] = p.Time(float64(*next))
			}
		}
		return row
	})
}

// evidenceOf draws some kinds of what was seen of all workers together.
func (p *page) evidenceOf(s Snapshot, kinds ...string) {
	var all evidence.Set
	for _, r := range s.Workers {
		all = all.Merge(r.Evidence)
	}
	all.Text(p.Page, "", kinds...)
}

// rows draws a table with a line for each worker that was seen.
func (p *page) rows(s Snapshot, headers []string, line func(Row) []string, left ...int) {
	var table [][]string
	for _, r := range s.Workers {
		if r.Error == "" {
			table = append(table, line(r))
		}
	}
	if len(table) > 0 {
		p.Fitted(headers, table, left...)
	}
}

func (p *page) watchMasters(s Snapshot) {
	for _, m := range s.Masters {
		if m.Counters == nil {
			continue
		}
		c := m.Counters
		p.Para("  ", p.Join(fmt.Sprintf("nginx %d", m.PID), p.Rate(m.Requests)+" requests/s",
			fmt.Sprintf("%d connections of clients: %d reading, %d writing, %d waiting", c.Active, c.Reading, c.Writing, c.Waiting)), p.Faint)
		if q := m.PerRequest; q != nil {
			parts := []string{p.Time(q.CPU) + " CPU"}
			for _, event := range slices.Concat(process.SoftwareEvents, process.HardwareEvents) {
				if n := q.Events[event]; n >= 0.005 { // less shows as nothing
					parts = append(parts, p.Rate(n)+" "+strings.ReplaceAll(string(event), "_", " "))
				}
			}
			p.Para("    ", "a request took "+p.Join(parts...), p.Faint)
		}
	}
}

// watchZones lists the shared memory, the fullest first.
func (p *page) watchZones(s Snapshot) {
	type one struct {
		master int
		nginx.Zone
	}
	var all []one
	for _, m := range s.Masters {
		for _, z := range m.Zones {
			all = append(all, one{m.PID, z})
		}
	}
	listed(p, "shared memory", all, func(a, b one) int { return cmp.Compare(b.Fill(), a.Fill()) },
		[]string{"zone", "full", "free", "size", "pieces", "failed", "nginx", "of"}, func(z one) []string {
			return []string{ui.Clean(z.Name), ui.Percent(z.Fill()), p.Size(float64(z.Free)), p.Size(float64(z.Size)),
				fmt.Sprint(z.Pieces), fmt.Sprint(z.Failed), fmt.Sprint(z.master), z.Module}
		}, 7)
}

// listed draws the first of a list in an order, as a table under a title, and says how many there are more.
func listed[T any](p *page, title string, all []T, order func(a, b T) int, headers []string, row func(T) []string, left ...int) {
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, order)
	p.Section(title)
	var table [][]string
	for _, one := range all[:min(len(all), ui.MostListed)] {
		table = append(table, row(one))
	}
	p.Fitted(headers, table, left...)
	p.More(len(all))
}

// watchCompiler lists what LuaJIT did not compile: what it will not try again first.
func (p *page) watchCompiler(s Snapshot) {
	for _, r := range s.Workers {
		who := fmt.Sprintf("worker %d", r.PID)
		if r.Stream != nil {
			p.notCompiled(r.Stream.JIT, who+", stream")
			who += ", http"
		}
		p.notCompiled(r.JIT, who)
	}
}

func (p *page) notCompiled(j *JIT, who string) {
	if j == nil {
		return
	}
	var lines []string
	for _, a := range j.Blacklisted {
		lines = append(lines, placeOf(a)+"; blacklisted")
	}
	for _, a := range j.Aborts {
		lines = append(lines, placeOf(a)+"; may be tried again")
	}
	if len(lines) == 0 {
		return
	}
	p.Section("not compiled in " + who)
	for _, line := range lines[:min(len(lines), ui.MostListed)] {
		p.Line(p.Shorten("  "+ui.Clean(line), p.Options.Width))
	}
	p.More(len(lines))
}

func placeOf(a Abort) string {
	text := fmt.Sprintf("%s:%d", path.Base(a.File), a.Line)
	if a.Function != "" {
		text = a.Function + " " + text
	}
	if a.Loop {
		text += ", a loop"
	}
	if a.Reason == "" {
		return text + ": LuaJIT has forgotten why"
	}
	return text + ": " + a.Reason
}

func (p *page) watchNotes(s Snapshot) {
	var notes []string
	for _, r := range s.Workers {
		if r.Error != "" {
			notes = append(notes, r.Error) // it names the worker
		}
		if r.Busiest != "" {
			notes = append(notes, fmt.Sprintf("worker %d ran Lua mostly for %s", r.PID, r.Busiest)+p.phasesOf(r))
		}
		for _, u := range r.Unknown {
			notes = append(notes, fmt.Sprintf("worker %d: not known: %s", r.PID, u))
		}
	}
	for _, m := range s.Masters {
		if m.Unknown != "" {
			notes = append(notes, fmt.Sprintf("nginx %d: %s", m.PID, m.Unknown))
		}
	}
	reasons := map[string][]string{}
	for _, event := range slices.Concat(process.SoftwareEvents, process.HardwareEvents) {
		if why := s.Missing[event]; why != "" {
			reasons[why] = append(reasons[why], strings.ReplaceAll(string(event), "_", " "))
		}
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		notes = append(notes, "not counted: "+strings.Join(reasons[why], ", ")+": "+why)
	}
	if len(p.Unfit) > 0 {
		notes = append(notes, "no room for "+strings.Join(p.Unfit, ", ")+": widen the window, or see --json")
	}
	if len(notes) > 0 {
		p.Blank()
	}
	for _, n := range notes {
		p.FaintLine(n)
	}
}

// phasesOf says the shares of the phases with their intervals, the largest first.
func (p *page) phasesOf(r Row) string {
	names := slices.SortedFunc(maps.Keys(r.Phases), func(a, b string) int {
		if r.Phases[a].Estimate != r.Phases[b].Estimate {
			return int(1e6 * (r.Phases[b].Estimate - r.Phases[a].Estimate))
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, name := range names {
		s := r.Phases[name]
		parts = append(parts, name+" "+p.ShareRange(s))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; of the time in " + strings.Join(parts, ", ")
}
