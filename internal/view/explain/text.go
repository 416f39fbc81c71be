package explain

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/moonlap/moonlap/internal/evidence/requests"
	"github.com/moonlap/moonlap/internal/evidence/shares"
	"github.com/moonlap/moonlap/internal/evidence/timers"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/view/profiles"
)

type page struct{ *ui.Page }

const mostFrames = 50 // of a stack; a recursion of several functions has hundreds

// Draw draws what a process does, or did. Its only error is that of w.
func Draw(w io.Writer, e *profile.Profile, opt ui.Options) error {
	p := &page{ui.NewPage(opt)}
	who, title := "worker", "most frequent stack, innermost first"
	if e.Core != nil {
		who, title = "process", "stack, innermost first" // of any program
	}
	p.Line(p.Strong.Render("moonlap explain") + p.Faint.Render(p.Dot+fmt.Sprintf("%s %s", who, pids(e.PIDs))))
	if e.Core != nil {
		p.core(e)
	} else {
		p.samples(e)
	}
	e.Evidence.Text(p.Page, "", Name)
	if r, ok := e.Evidence[requests.Name].(*requests.Result); ok {
		r.List(p.Page, "requests in flight, after the samples", ui.MostLines, mostFrames)
	}
	if t, ok := e.Evidence[timers.Name].(*timers.Result); ok {
		t.Whole(p.Page)
	}
	for _, u := range e.Unknown {
		p.FaintLine("not known: " + u)
	}
	if e.Core == nil {
		if f, ok := e.Evidence[Name].(*Findings); ok && f.none() { // its stack is that of every idle worker
			return p.Write(w)
		}
		e.Evidence.Text(p.Page, "", profiles.OfSamples...)
	}
	p.stack(title, e.Typical())
	return p.Write(w)
}

// stack draws a stack, innermost frame first.
func (p *page) stack(title string, stack []profile.Frame) {
	p.Section(title)
	lines := 0
	for i := 0; i < len(stack); lines++ {
		if lines == mostFrames {
			p.Line(p.Faint.Render(fmt.Sprintf("  and %d more: --json has them all", len(stack)-i)))
			break
		}
		same := 1 // a recursion
		for i+same < len(stack) && stack[i+same] == stack[i] {
			same++
		}
		p.frame(stack[i], same)
		i += same
	}
}

// pids names processes.
func pids(all []int) string {
	return strings.Trim(fmt.Sprint(all), "[]")
}

// sampled are the parts of samples of a profile.
func sampled(e *profile.Profile) *shares.Result {
	if r, ok := e.Evidence[shares.Name].(*shares.Result); ok {
		return r
	}
	return shares.OfStacks(e)
}

// core are the facts of one moment.
func (p *page) core(e *profile.Profile) {
	p.Fact("core", ui.Clean(e.Core.File))
	state, r := "not on the stack", sampled(e)
	for _, s := range r.States {
		state = ui.Clean(s.Name)
	}
	p.Fact("Lua", p.Join(state, p.Size(float64(e.Heap))+" of heap", profiles.Lost(p.Page, e)))
	for _, request := range r.Requests {
		p.Fact("request", ui.Clean(request.Name))
	}
}

func (p *page) samples(e *profile.Profile) {
	p.Fact("samples", p.Join(ui.Count(e.Samples), "each stopped it for at most "+profiles.Pause(p.Page, e), profiles.Lost(p.Page, e)))
	p.Fact("CPU", p.Join(ui.Percent(float64(e.Used)/float64(max(1, e.Elapsed))), "Lua in "+ui.Percent(sampled(e).Lua)+" of the samples", p.Size(float64(e.Heap))+" of Lua heap"))
}

// frame is one line: the function, where it is, whether it is compiled, and how often it stands there.
func (p *page) frame(f profile.Frame, times int) {
	name := cmp.Or(ui.Clean(f.Function), "function")
	at := path.Base(ui.Clean(f.File))
	if f.Kind == profile.Lua {
		line := cmp.Or(f.Line, f.FirstLine)
		at = fmt.Sprintf("%s:%d", ui.Clean(f.File), line)
	}
	if f.Kind == profile.Builtin || f.File == "" {
		at = string(f.Kind)
	}
	if f.Compiled {
		at += " (compiled)"
	}
	if times > 1 {
		at += fmt.Sprintf(", %d times", times)
	}
	const nameColumn = 32
	text := fmt.Sprintf("  %-*s  %s", nameColumn, p.Shorten(name, nameColumn), at)
	text = p.Shorten(text, p.Options.Width)
	if f.Kind == profile.C {
		text = p.Faint.Render(text)
	}
	p.Line(text)
}
