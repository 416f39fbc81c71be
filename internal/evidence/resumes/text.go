package resumes

import (
	"cmp"
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/ui"
)

// Text shows how long Lua ran in each phase, and what it cost to know.
func (r *Result) Text(p *ui.Page, whose string) {
	p.Section("resumes: runs of Lua, by phase" + whose)
	if r.Count == 0 {
		p.Para("  ", fmt.Sprintf("none in %s of probing", p.Time(float64(r.Probed))), p.Faint)
		return
	}
	var rows [][]string
	for _, f := range r.Phases {
		row := func(name, rate, each, noCPU string, d probe.Durations) {
			rows = append(rows, []string{name, rate, each, p.Timed(d.Median.Nanoseconds()), p.Timed(d.P99.Nanoseconds()), p.Time(float64(d.Longest)), ui.Percent(r.Share(d.Total)), noCPU})
		}
		each := ""
		if f.Began > 0 {
			each = fmt.Sprintf("%.1f", float64(f.Own.Count)/float64(f.Began))
		}
		row(phaseOf(f.Phase), ui.Few(f.Rate), each, ui.Percent(r.Share(f.NoCPU)), f.Own)
		if f.Whole.Total > f.Own.Total {
			row("  with others inside", "", "", "", f.Whole)
		}
		if w := f.Wait; w.Count > 0 {
			rows = append(rows, []string{"  waits in between", "", "", p.Timed(w.Median.Nanoseconds()), p.Timed(w.P99.Nanoseconds()), p.Time(float64(w.Longest)), "", ""})
		}
	}
	p.Table([]string{"phase", "/s", "each", "median", "99 %", "longest", "share", "no CPU"}, rows)
	byWorker(p, r.Workers)
	longest(p, r.Longest)
	r.cost(p)
}

func phaseOf(name string) string { return cmp.Or(name, "(not known)") }

// byWorker shows what phases take of each worker's time.
func byWorker(p *ui.Page, all []Worker) {
	if len(all) < 2 {
		return
	}
	p.Section("resumes by worker")
	p.Line(p.Faint.Render(fmt.Sprintf("  %7s %9s %7s", "worker", "/s", "share")))
	for _, w := range all {
		var parts []string
		rate, whole := 0.0, 0.0
		for _, f := range w.Phases {
			share := probe.Duty{Probed: w.Probed}.Share(f.Own.Total)
			rate, whole = rate+f.Rate, whole+share
			parts = append(parts, phaseOf(f.Phase)+" "+ui.Percent(share))
		}
		p.Para(fmt.Sprintf("  %7d %9s %7s  ", w.PID, ui.Few(rate), ui.Percent(whole)), strings.Join(parts, ", "), lipgloss.NewStyle())
	}
}

const noticed = 10 // a part of a time that is no smaller than one in N

// longest shows runs that took longest.
func longest(p *ui.Page, all []Long) {
	if len(all) == 0 {
		return
	}
	p.Section("longest resumes")
	for _, l := range all[:min(ui.MostLines, len(all))] {
		p.Para(fmt.Sprintf("  %9s  ", p.Time(float64(l.Own-l.NoCPU))), ui.Clean(p.Join(phaseOf(l.Phase), l.URI,
			strings.TrimSpace(ui.When(l.GoesOn, "goes on in ")+l.From), ui.When(l.Ran != "", "ran "+l.Ran),
			ui.When(l.Pauses, "then waits "+l.Waits+ui.When(l.In != "", " "+p.Arrow+" "+l.In)),
			ui.When(l.NoCPU > l.Own/noticed, "and "+p.Time(float64(l.NoCPU))+" without a processor"))), lipgloss.NewStyle())
	}
}

// cost says what it took to know.
func (r *Result) cost(p *ui.Page) {
	p.Para("  ", fmt.Sprintf("%s in %s of probing, of %s. The probe takes %s for each, some of which is in the times: %s of the workers' time (--budget %s).",
		ui.Plural(r.Count, "resume", "resumes"), p.Time(float64(r.Probed)), p.Time(float64(r.Elapsed)), p.Time(float64(r.Each)), ui.Percent(r.CostShare()), ui.Percent(r.Budget)), p.Faint)
	observe.Rests(p, r.Duty, "a resume or a wait")
	if r.Lost > 0 {
		p.Para("  ", ui.Plural(r.Lost, "resume was", "resumes were")+" nested too deep, or could not be reported.", p.Faint)
	}
	if len(r.Unseen) > 0 {
		p.Para("  ", "Not to be seen in this nginx: "+strings.Join(r.Unseen, ", ")+".", p.Faint)
	}
}
