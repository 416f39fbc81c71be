package report

import (
	"fmt"
	"io"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/allocations"
	"github.com/moonlap/moonlap/internal/evidence/compiler"
	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/evidence/regexes"
	"github.com/moonlap/moonlap/internal/evidence/resumes"
	"github.com/moonlap/moonlap/internal/evidence/sleeps"
	"github.com/moonlap/moonlap/internal/evidence/turns"
	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/ui"
)

// Kinds of evidence in the order in which a page has them: before its shares of samples, and after.
var (
	first     = []string{turns.Name, sleeps.Name, allocations.Name}
	ofSamples = []string{locks.InSamples, regexes.Name}
	details   = []string{compiler.Name, locks.Name, resumes.Name}
)

// A Profile is the summary of a profile of nginx workers, or of a command's processes.
type Profile struct {
	PIDs        []int
	Command     string // that was run; "": they ran already
	Which       string // on-cpu, off-cpu or wall
	By          string // how workers were looked at: ebpf or ptrace
	Note        string // what else there is to know of the stacks
	File        string // where the profile was written; "": nowhere
	Duration    time.Duration
	Hz          float64       // looks a second at each worker that were asked for
	Looks       int           // at all workers, of all moments, those that failed included
	Lost        int           // looks more that the kernel took, and nobody read in time
	Looked      time.Duration // how long all workers together were looked at
	Paused      time.Duration // how long of that they stood still, at most
	Pause       time.Duration // that a look might stop a worker for
	Cut         int           // looks that ended then, before their stack did
	LeftOut     int           // functions of Lua that are not in those stacks, together
	Used        time.Duration // CPU time of all workers
	Explanation explain.Explanation
	Evidence    evidence.Set // that was asked for besides
}

// Write draws the summary. Its only error is that of w.
func (s Profile) Write(w io.Writer, opt ui.Options) error {
	p := newPage(opt)
	e := s.Explanation
	who := fmt.Sprintf("worker %d", s.PIDs[0])
	if len(s.PIDs) > 1 {
		who = fmt.Sprintf("%d workers", len(s.PIDs))
	}
	if s.Command != "" {
		who = ui.Clean(s.Command)
	}
	p.Line(p.Strong.Render("moonlap profile") + p.Faint.Render(p.Dot+who+p.Dot+s.Which))
	_, allocated := s.Evidence[allocations.Name]
	slept, timed := s.Evidence[sleeps.Name].(*sleeps.Result)
	switch {
	case allocated:
		s.missing(p)
	case timed:
		slept.Facts(p.Page, s.Duration)
		s.missing(p)
	case s.By == "ebpf":
		s.ticks(p)
	default:
		s.stops(p)
	}
	p.Fact("CPU", ui.Percent(s.Used.Seconds()/s.Duration.Seconds())+" of one processor")
	if e.Samples == 0 && !timed && !allocated {
		p.Fact("result", "nothing: no look found a worker "+s.Which)
	}
	if s.Note != "" {
		p.Fact("kernel", ui.Clean(s.Note))
	}
	if s.File != "" {
		p.Fact("file", ui.Clean(s.File))
	}
	s.Evidence.Text(p.Page, "", first...)
	if allocated {
		e.Lines, e.Modules = nil, nil // told already; LuaJIT
	}
	p.allShares(e)
	s.Evidence.Text(p.Page, "", details...)
	return p.Write(w)
}

// stops is about looks that stopped the workers.
func (s Profile) stops(p *page) {
	e := s.Explanation
	each := ""
	rate := float64(s.Looks) / s.Looked.Seconds()
	if len(s.PIDs) > 1 {
		each = " at each worker"
	}
	p.Fact("looks", p.Join(
		fmt.Sprintf("%s in %s", ui.Count(s.Looks), p.Time(float64(s.Duration))),
		fmt.Sprintf("%.0f a second%s, of %.0f wanted", rate, each, s.Hz),
		fmt.Sprintf("%s are %s", ui.Count(e.Samples), s.Which), p.lost(e)))
	p.Fact("cost", fmt.Sprintf("each look stopped a worker for at most %s: %s of its time", p.Time(float64(e.PauseNS)), ui.Percent(s.Paused.Seconds()/s.Looked.Seconds())))
	if s.Cut > 0 {
		p.Fact("cut", fmt.Sprintf("%s of the looks (%s) ended at --pause %v, and left out %s Lua functions each, on average",
			ui.Percent(float64(s.Cut)/float64(max(1, s.Looks))), ui.Count(s.Cut), s.Pause, ui.Count(s.LeftOut/s.Cut)))
	}
}

// ticks is about looks of the kernel at each so much CPU time.
func (s Profile) ticks(p *page) {
	p.Fact("looks", p.Join(
		fmt.Sprintf("%s in %s", ui.Count(s.Looks+s.Lost), p.Time(float64(s.Duration))),
		fmt.Sprintf("one in each %s of CPU time, through eBPF; nothing was stopped", p.Time(1e9/s.Hz))))
	s.missing(p)
}

// missing is about looks that came to nothing, or not to all of it.
func (s Profile) missing(p *page) {
	e := s.Explanation
	if s.Lost+e.Failed+e.Partial == 0 {
		p.Fact("missing", "nothing: each look has its whole stack")
		return
	}
	of := func(n int, what string) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("%s of the looks (%s) %s", ui.Percent(float64(n)/float64(max(1, s.Looks+s.Lost))), ui.Count(n), what)
	}
	p.Fact("missing", p.Join(
		of(s.Lost, "not taken from the kernel in time"),
		of(e.Failed, "without a Lua stack that makes sense"),
		of(e.Partial, "without all C frames")))
}

// KeptProfile draws the summary of a profile that was kept; file is where it was written again, ""
// nowhere. Its only error is that of w.
func KeptProfile(w io.Writer, kept *profile.Profile, file string, opt ui.Options) error {
	p := newPage(opt)
	p.Line(p.Strong.Render("moonlap profile") + p.Faint.Render(p.Dot+ui.Clean(kept.Title)))
	what, amount := "looks", ui.Count(kept.Total())
	switch kept.Unit {
	case profile.Bytes:
		what, amount = "bytes", p.Size(float64(kept.Total()))
	case profile.Time:
		what, amount = "time", p.Time(float64(kept.Total()))
	}
	p.Fact(what, p.Join(amount+" in "+p.Time(float64(kept.Duration)), kept.Start.Format(time.DateTime)))
	if file != "" {
		p.Fact("file", ui.Clean(file))
	}
	kept.Evidence.Text(p.Page, "", first...)
	kept.Evidence.Text(p.Page, "", ofSamples...)
	for _, list := range []struct {
		title string
		rows  []evidence.Share
	}{
		{"Lua lines", kept.LuaLines()}, {"states of Lua", kept.ByLabel("state")}, {"requests", kept.ByLabel("uri")},
		{"phases", kept.ByLabel("phase")}, {"plugins and modules of Lua", kept.ByLabel("module")},
	} {
		evidence.ListShares(p.Page, list.title, list.rows)
	}
	kept.Evidence.Text(p.Page, "", details...)
	return p.Write(w)
}
