package report

import (
	"fmt"
	"io"
	"path"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/worker"
)

const (
	mostLines  = 8  // of Lua, or requests, before the rest is left out
	mostFrames = 50 // of a stack; a recursion of several functions has hundreds
)

// Explain draws what an nginx worker is doing. Its only error is that of w.
func Explain(w io.Writer, pid int, e explain.Explanation, opt Options) error {
	p := newPage(opt)
	who := "worker"
	if e.Core != nil {
		who = "process" // of any program
	}
	p.line(p.strong.Render("moonlap explain") + p.faint.Render(p.dot+fmt.Sprintf("%s %d", who, pid)))
	if e.Core != nil {
		p.core(e)
	} else {
		p.looks(e)
	}
	p.blank()
	for _, f := range e.Findings {
		p.para("  ", clean(f.Text), p.strong)
		p.para("  "+p.arrow+" ", sentence(clean(f.Advice)), lipgloss.NewStyle())
	}
	p.served(e.Served)
	title := "stack, innermost first"
	if e.Core == nil {
		p.allShares(e)
		title = "most frequent " + title
	}
	p.section(title)
	lines := 0
	for i := 0; i < len(e.Stack); lines++ {
		if lines == mostFrames {
			p.line(p.faint.Render(fmt.Sprintf("  and %d more: --json has them all", len(e.Stack)-i)))
			break
		}
		same := 1 // a recursion
		for i+same < len(e.Stack) && e.Stack[i+same] == e.Stack[i] {
			same++
		}
		p.frame(e.Stack[i], same)
		i += same
	}
	return p.writeTo(w)
}

// core are the facts of one moment.
func (p *page) core(e explain.Explanation) {
	p.fact("core", clean(e.Core.File))
	state := "not on the stack"
	for _, s := range e.States {
		state = clean(s.Name)
	}
	p.fact("Lua", p.join(state, p.size(float64(e.Heap))+" of heap", p.lost(e)))
	for _, r := range e.Requests {
		p.fact("request", clean(r.Name))
	}
}

func (p *page) looks(e explain.Explanation) {
	p.fact("looks", p.join(count(int64(e.Samples)), "each stopped it for at most "+p.time(float64(e.PauseNS)), p.lost(e)))
	p.fact("CPU", p.join(percent(e.CPU), "Lua in "+percent(e.Lua)+" of the looks", p.size(float64(e.Heap))+" of Lua heap"))
}

func (p *page) allShares(e explain.Explanation) {
	p.locks(e.Locks)
	p.regexes(e.Regexes)
	p.shares("Lua lines", e.Lines)
	p.shares("states of Lua", e.States)
	p.shares("Lua of the blocks", e.Machines)
	p.shares("requests", e.Requests)
	p.shares("phases", e.Phases)
	p.shares("plugins and modules of Lua", e.Plugins)
	p.shares("innermost functions, by program and library", e.Modules)
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
	return p.join(parts...)
}

func (p *page) shares(name string, list []explain.Share) {
	if len(list) == 0 {
		return
	}
	p.section(name)
	for i, s := range list {
		if i == mostLines {
			p.line(p.faint.Render(fmt.Sprintf("  and %d more", len(list)-i)))
			break
		}
		p.line(p.shorten(fmt.Sprintf("  %5s  %s", percent(s.Share), clean(s.Name)), p.opt.Width))
	}
}

// frame is one line: the function, where it is, whether it is compiled, and how often it stands there.
func (p *page) frame(f worker.Frame, times int) {
	name := clean(f.Function)
	if name == "" {
		name = "function"
	}
	at := path.Base(clean(f.File))
	if f.Kind == luajit.Lua {
		line := f.Line
		if line == 0 {
			line = f.FirstLine
		}
		at = fmt.Sprintf("%s:%d", clean(f.File), line)
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
	text := fmt.Sprintf("  %-*s  %s", nameColumn, p.shorten(name, nameColumn), at)
	text = p.shorten(text, p.opt.Width)
	if f.Kind == luajit.C {
		text = p.faint.Render(text)
	}
	p.line(text)
}
