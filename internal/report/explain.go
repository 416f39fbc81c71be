package report

import (
	"fmt"
	"io"
	"path"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/requests"
	"github.com/moonlap/moonlap/internal/evidence/timers"
	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/worker"
)

const mostFrames = 50 // of a stack; a recursion of several functions has hundreds

// Explain draws what an nginx worker is doing. Its only error is that of w.
func Explain(w io.Writer, pid int, e explain.Explanation, opt ui.Options) error {
	p := newPage(opt)
	who := "worker"
	if e.Core != nil {
		who = "process" // of any program
	}
	p.Line(p.Strong.Render("moonlap explain") + p.Faint.Render(p.Dot+fmt.Sprintf("%s %d", who, pid)))
	if e.Core != nil {
		p.core(e)
	} else {
		p.looks(e)
	}
	p.Blank()
	for _, f := range e.Findings {
		p.Para("  ", ui.Clean(f.Text), p.Strong)
		p.Para("  "+p.Arrow+" ", ui.Sentence(ui.Clean(f.Advice)), lipgloss.NewStyle())
	}
	if r, ok := e.Evidence[requests.Name].(*requests.Result); ok {
		r.List(p.Page, "requests in flight, after the samples", ui.MostLines, mostFrames)
	}
	if t, ok := e.Evidence[timers.Name].(*timers.Result); ok {
		t.Whole(p.Page)
	}
	for _, u := range e.Unknown {
		p.FaintLine("not known: " + u)
	}
	title := "stack, innermost first"
	if e.Core == nil {
		p.allShares(e)
		title = "most frequent " + title
	}
	p.Section(title)
	lines := 0
	for i := 0; i < len(e.Stack); lines++ {
		if lines == mostFrames {
			p.Line(p.Faint.Render(fmt.Sprintf("  and %d more: --json has them all", len(e.Stack)-i)))
			break
		}
		same := 1 // a recursion
		for i+same < len(e.Stack) && e.Stack[i+same] == e.Stack[i] {
			same++
		}
		p.frame(e.Stack[i], same)
		i += same
	}
	return p.Write(w)
}

// core are the facts of one moment.
func (p *page) core(e explain.Explanation) {
	p.Fact("core", ui.Clean(e.Core.File))
	state := "not on the stack"
	for _, s := range e.States {
		state = ui.Clean(s.Name)
	}
	p.Fact("Lua", p.Join(state, p.Size(float64(e.Heap))+" of heap", p.lost(e)))
	for _, r := range e.Requests {
		p.Fact("request", ui.Clean(r.Name))
	}
}

func (p *page) looks(e explain.Explanation) {
	p.Fact("looks", p.Join(ui.Count(int64(e.Samples)), "each stopped it for at most "+p.Time(float64(e.PauseNS)), p.lost(e)))
	p.Fact("CPU", p.Join(ui.Percent(e.CPU), "Lua in "+ui.Percent(e.Lua)+" of the looks", p.Size(float64(e.Heap))+" of Lua heap"))
}

func (p *page) allShares(e explain.Explanation) {
	e.Evidence.Text(p.Page, "", ofSamples...)
	evidence.ListShares(p.Page, "Lua lines", e.Lines)
	evidence.ListShares(p.Page, "states of Lua", e.States)
	evidence.ListShares(p.Page, "Lua of the blocks", e.Machines)
	evidence.ListShares(p.Page, "requests", e.Requests)
	evidence.ListShares(p.Page, "phases", e.Phases)
	evidence.ListShares(p.Page, "plugins and modules of Lua", e.Plugins)
	evidence.ListShares(p.Page, "innermost functions, by program and library", e.Modules)
}

// lost says what is missing, in words.
func (p *page) lost(e explain.Explanation) string {
	var parts []string
	if e.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d more failed", e.Failed))
	}
	if e.Partial > 0 {
		parts = append(parts, fmt.Sprintf("%d without all C frames", e.Partial))
	}
	return p.Join(parts...)
}

// frame is one line: the function, where it is, whether it is compiled, and how often it stands there.
func (p *page) frame(f worker.Frame, times int) {
	name := ui.Clean(f.Function)
	if name == "" {
		name = "function"
	}
	at := path.Base(ui.Clean(f.File))
	if f.Kind == luajit.Lua {
		line := f.Line
		if line == 0 {
			line = f.FirstLine
		}
		at = fmt.Sprintf("%s:%d", ui.Clean(f.File), line)
	}
	if f.Kind == luajit.Builtin || f.File == "" {
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
	if f.Kind == luajit.C {
		text = p.Faint.Render(text)
	}
	p.Line(text)
}
