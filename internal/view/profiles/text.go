// Package profiles samples workers, commands and servers under load, and draws their profiles: which evidence, in which order.
package profiles

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/allocations"
	"github.com/moonlap/moonlap/internal/evidence/compiler"
	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/evidence/regexes"
	"github.com/moonlap/moonlap/internal/evidence/resumes"
	"github.com/moonlap/moonlap/internal/evidence/shares"
	"github.com/moonlap/moonlap/internal/evidence/sleeps"
	"github.com/moonlap/moonlap/internal/evidence/turns"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/view/capture"
)

// Kinds of evidence in the order in which a page has them: before the parts of samples, among these, and after. Others follow.
var (
	first     = []string{capture.Name, turns.Name, sleeps.Name, allocations.Name}
	OfSamples = []string{shares.Name, locks.InSamples, regexes.Name}
	details   = []string{compiler.Name, locks.Name, resumes.Name}
)

// Draw draws what was sampled, now or when it was kept; file is where it was written, "" nowhere. Its only error is that of w.
func Draw(w io.Writer, e *profile.Profile, file string, opt ui.Options) error {
	p := &page{ui.NewPage(opt)}
	known := len(e.PIDs) > 0
	who := e.Title
	if known {
		who = workers(e) + p.Dot + e.Mode
	}
	p.Line(p.Strong.Render("moonlap profile") + p.Faint.Render(p.Dot+ui.Clean(who)))
	slept, timed := e.Evidence[sleeps.Name].(*sleeps.Result)
	_, allocated := e.Evidence[allocations.Name]
	switch {
	case timed:
		slept.Facts(p.Page, e.Duration)
	case known && e.Samples == 0 && !allocated:
		p.Fact("result", "nothing: no sample found a worker "+e.Mode)
	}
	set := e.Evidence
	if set[shares.Name] == nil {
		set = set.Merge(evidence.Set{shares.Name: shares.OfStacks(e)})
	}
	order := slices.Concat(first, OfSamples, details)
	set.Text(p.Page, "", append(order, set.Others(order...)...)...)
	p.Blank()
	p.taken(e, known, timed || allocated)
	if file != "" {
		p.Fact("file", ui.Clean(file))
	}
	return p.Write(w)
}

// taken is how samples were taken, and what is missing of them. counted: their number says nothing.
func (p *page) taken(e *profile.Profile, known, counted bool) {
	switch {
	case !known:
		p.counted(e)
	case counted:
		p.missing(e)
	case e.By == "ebpf":
		p.ticks(e)
	default:
		p.stops(e)
	}
	ranges, none := e.Lines()
	if ranges > 0 {
		p.Fact("lines", ui.Percent(ranges)+" of the samples have a range of lines: compiled code whose line is not known")
	}
	if none > 0 {
		p.Fact("no line", ui.Percent(none)+" of the samples: compiled code of which only the function is known")
	}
	if known && (counted || e.By != "ebpf") { // else it stands beside the samples
		p.Fact("CPU", cpu(e))
	}
	if e.Note != "" {
		p.Fact("kernel", ui.Clean(e.Note))
	}
}

type page struct{ *ui.Page }

// Pause is how long a sample stopped a worker for on average, at most.
func Pause(p *ui.Page, e *profile.Profile) string {
	return p.Time(float64(e.Paused) / float64(max(1, e.Taken)))
}

// Lost says what is missing, in words.
func Lost(p *ui.Page, e *profile.Profile) string {
	return p.Join(ui.When(e.Failed > 0, fmt.Sprintf("%d more failed", e.Failed)),
		ui.When(e.Partial > 0, fmt.Sprintf("%d without all C frames", e.Partial)))
}

// workers names those that a profile is of.
func workers(e *profile.Profile) string {
	switch {
	case e.Command != "":
		return e.Command
	case len(e.PIDs) == 1:
		return fmt.Sprintf("worker %d", e.PIDs[0])
	}
	return fmt.Sprintf("%d workers", len(e.PIDs))
}

// counted is how much there is in a profile of which no more is known.
func (p *page) counted(e *profile.Profile) {
	what, amount := "samples", ui.Count(e.Total())
	switch e.Unit {
	case profile.Bytes:
		what, amount = "bytes", p.Size(float64(e.Total()))
	case profile.Time:
		what, amount = "time", p.Time(float64(e.Total()))
	}
	p.Fact(what, p.Join(amount+" in "+p.Time(float64(e.Duration)), e.Start.Format(time.DateTime)))
}

// stops is about samples that stopped the workers.
func (p *page) stops(e *profile.Profile) {
	p.Fact("samples", p.Join(
		fmt.Sprintf("%s in %s", ui.Count(e.Taken), p.Time(float64(e.Duration))),
		fmt.Sprintf("%.0f a second%s, of %.0f wanted", float64(e.Taken)/e.Elapsed.Seconds(), ui.When(len(e.PIDs) > 1, " at each worker"), e.Hz),
		fmt.Sprintf("%s are %s", ui.Count(e.Samples), e.Mode), Lost(p.Page, e)))
	p.Fact("cost", fmt.Sprintf("each sample stopped a worker for at most %s: %s of its time", Pause(p.Page, e), ui.Percent(e.Paused.Seconds()/e.Elapsed.Seconds())))
	if e.Cut > 0 {
		p.Fact("cut", fmt.Sprintf("%s of the samples (%s) ended at --pause %v, and left out %s Lua functions each, on average",
			ui.Percent(float64(e.Cut)/float64(max(1, e.Taken))), ui.Count(e.Cut), e.Hold, ui.Count(e.LeftOut/e.Cut)))
	}
}

func cpu(e *profile.Profile) string {
	return ui.Percent(e.Used.Seconds()/e.Duration.Seconds()) + " of one processor"
}

// ticks is about samples of the kernel, one in some CPU time.
func (p *page) ticks(e *profile.Profile) {
	p.Fact("samples", p.Join(
		fmt.Sprintf("%s in %s", ui.Count(e.Taken+e.Lost), p.Time(float64(e.Duration))), cpu(e),
		fmt.Sprintf("one in each %s of CPU time, through eBPF", p.Time(1e9/e.Hz))))
	p.missing(e)
}

// missing is about samples that came to nothing, or not to all of it; it says nothing where none did.
func (p *page) missing(e *profile.Profile) {
	if e.Lost+e.Failed+e.Partial == 0 {
		return
	}
	of := func(n int, what string) string {
		return ui.When(n > 0, fmt.Sprintf("%s of the samples (%s) %s", ui.Percent(float64(n)/float64(max(1, e.Taken+e.Lost))), ui.Count(n), what))
	}
	p.Fact("missing", p.Join(
		of(e.Lost, "not taken from the kernel in time"),
		of(e.Failed, "without a Lua stack that makes sense"),
		of(e.Partial, "without all C frames")))
}
