package compiler

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/ui"
)

// Text shows why Lua was interpreted, where traces are left and end, and how many there are.
func (r *Result) Text(p *ui.Page, whose string) {
	if len(r.Roots) > 0 {
		p.Section(fmt.Sprintf("interpreted: %s, because of%s", ui.Percent(r.Interpreted), whose))
		advised := map[string]bool{}
		for root := range ui.First(p, r.Roots) {
			p.Para(fmt.Sprintf("  %5s  ", ui.Percent(root.Share)), root.text(p), lipgloss.NewStyle())
			if root.Remedy != "" && !advised[root.Remedy] {
				advised[root.Remedy] = true
				p.Para("         "+p.Arrow+" ", root.Remedy, p.Faint)
			}
		}
	}
	if len(r.Causes) > 1 && len(r.Roots) > len(r.Causes) { // else each stands above
		var list []evidence.Share
		for _, c := range r.Causes {
			list = append(list, evidence.Share{Name: p.Join(causes[c.Cause], c.Reason), Share: c.Share})
		}
		p.Fact("causes", evidence.Parts(list))
	}
	var exits []evidence.Share
	for _, e := range r.Exits {
		name := fmt.Sprintf("trace %d of %s", e.Trace, e.Begins)
		if e.To != "" {
			name += " " + p.Arrow + " " + e.To
		}
		exits = append(exits, evidence.Share{Name: name, Share: e.Share})
	}
	evidence.ListShares(p, fmt.Sprintf("leaving traces: %s%s", ui.Percent(r.Leaving), whose), exits)
	r.ends(p, whose)
	r.traces(p)
}

// traces is one line about how many there are.
func (r *Result) traces(p *ui.Page) {
	if r.Traces+r.Flushes == 0 {
		return
	}
	p.Blank()
	p.Fact("traces", p.Join(
		ui.Count(r.Traces)+ui.When(r.MaxTraces > 0, " of "+ui.Count(r.MaxTraces)+" at most"),
		ui.When(r.Area > 0, p.Size(float64(r.Area))+ui.When(r.MaxArea > 0, " of "+p.Size(float64(r.MaxArea)))+" for machine code"),
		ui.When(r.Flushes > 0, "thrown away at least "+ui.Plural(r.Flushes, "time", "times"))))
}

// causes in words.
var causes = map[luajit.Why]string{
	luajit.Off:         "the compiler is off",
	luajit.Hooked:      "a debug hook is set",
	luajit.FunctionOff: "jit.off for the function",
	luajit.Blacklisted: "given up for good",
	luajit.Penalized:   "given up, to be tried again",
	luajit.Left:        "a trace was left",
	luajit.Flushed:     "traces were thrown away",
	luajit.NotTried:    "no attempt is known: not hot yet, or too long ago",
	luajit.NotKnown:    "not known",
}

// text is what kept code from being compiled, in words, behind its name.
func (r Root) text(p *ui.Page) string {
	name := ui.Clean(r.Name())
	if r.Loop {
		name += ", a loop"
	}
	reason := r.Because(func(parts []string, _ string) string { return p.Join(parts...) })
	if name == "" {
		return reason
	}
	return name + ": " + reason
}

// Moved is a root whose lines are those of the file that its code stands in, lines further down.
func (r Root) Moved(lines int) Root {
	r.Obstacles = slices.Clone(r.Obstacles)
	for i := range r.Obstacles {
		r.Obstacles[i].Line += lines
	}
	if r.Branch != 0 {
		r.Branch += lines
	}
	return r
}

// Because is what kept code from being compiled, in words. join puts parts of it together, as strings.Join does.
func (r Root) Because(join func(parts []string, separator string) string) string {
	var obstacles []string
	for _, o := range r.Obstacles {
		obstacles = append(obstacles, fmt.Sprintf("%s at line %d", o.Code, o.Line))
	}
	what := strings.Join(obstacles, ", ")
	reason := r.Reason
	switch r.Cause {
	case luajit.Blacklisted, luajit.Penalized:
		if reason == "" {
			reason = "the reason is forgotten"
		}
		if what != "" && (r.Reason == "" || r.Reason == "NYI: bytecode") {
			reason += " (it has " + what + ")"
		}
		reason = join([]string{reason, causes[r.Cause]}, "; ")
	case luajit.Left:
		reason = causes[r.Cause]
		switch {
		case r.Branch != 0 && what != "":
			reason = fmt.Sprintf("its trace was left for a branch that was given up, from line %d on, with %s", r.Branch, what)
		case r.Branch != 0:
			reason = fmt.Sprintf("its trace was left for a branch that was given up, from line %d on", r.Branch)
		case r.Call != nil:
			reason = fmt.Sprintf("its trace ends where %s calls %s", ui.Clean(r.Call.Line), ui.Clean(r.Call.Function))
		case r.Full:
			reason = "its trace was left, and may have no more side traces"
		default:
			reason = "its trace was left, and no other goes on there yet"
		}
	default:
		reason = causes[r.Cause]
	}
	return reason
}

// ends shows the calls at which traces end.
func (r *Result) ends(p *ui.Page, whose string) {
	if len(r.Ends) == 0 {
		return
	}
	p.Section("calls that end traces" + whose)
	for e := range ui.First(p, r.Ends) {
		p.Para(fmt.Sprintf("  %5s  ", ui.Count(e.Traces)), ui.Clean(p.Join(p.Call(e.Line, e.Function), ui.When(e.GoesOn, "another trace goes on behind it"))), lipgloss.NewStyle())
	}
}
