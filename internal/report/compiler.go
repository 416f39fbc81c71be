package report

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/ui"
)

// compiler is one line about traces.
func (p *page) compiler(c *explain.Compiler) {
	if c == nil || c.Traces+c.Flushes == 0 {
		return
	}
	of := func(limit string, known bool) string {
		if !known {
			return ""
		}
		return " of " + limit
	}
	area, flushed := "", ""
	if c.Area > 0 {
		area = p.Size(float64(c.Area)) + of(p.Size(float64(c.MaxArea)), c.MaxArea > 0) + " for machine code"
	}
	if c.Flushes > 0 {
		flushed = fmt.Sprintf("thrown away at least %s", ui.Plural(c.Flushes, "time", "times"))
	}
	p.Fact("traces", p.Join(ui.Count(c.Traces)+of(ui.Count(c.MaxTraces)+" at most", c.MaxTraces > 0), area, flushed))
}

// interpreted shows why Lua was interpreted, and where traces are left.
func (p *page) interpreted(c *explain.Compiler) {
	if c == nil {
		return
	}
	if len(c.Roots) > 0 {
		p.Section(fmt.Sprintf("interpreted: %s, because of", ui.Percent(c.Interpreted)))
		advised := map[string]bool{}
		for i, r := range c.Roots {
			if i == ui.MostLines {
				p.Line(p.Faint.Render(fmt.Sprintf("  and %d more", len(c.Roots)-i)))
				break
			}
			p.Para(fmt.Sprintf("  %5s  ", ui.Percent(r.Share)), p.root(r), lipgloss.NewStyle())
			if r.Remedy != "" && !advised[r.Remedy] {
				advised[r.Remedy] = true
				p.Para("         "+p.Arrow+" ", r.Remedy, p.Faint)
			}
		}
	}
	if len(c.Causes) > 1 {
		var list []explain.Share
		for _, cause := range c.Causes {
			list = append(list, explain.Share{Name: p.Join(causes[cause.Cause], cause.Reason), Share: cause.Share})
		}
		p.shares("by cause", list)
	}
	if len(c.Exits) > 0 {
		var list []explain.Share
		for _, e := range c.Exits {
			name := fmt.Sprintf("trace %d of %s", e.Trace, e.Begins)
			if e.To != "" {
				name += " " + p.Arrow + " " + e.To
			}
			list = append(list, explain.Share{Name: name, Share: e.Share})
		}
		p.shares(fmt.Sprintf("leaving traces: %s", ui.Percent(c.Leaving)), list)
	}
	p.ends(c.Ends)
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

// root is what kept code from being compiled, in words.
func (p *page) root(r explain.Root) string {
	name := ui.Clean(r.Name())
	if r.Loop {
		name += ", a loop"
	}
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
		reason = p.Join(reason, causes[r.Cause])
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
	if name == "" {
		return reason
	}
	return name + ": " + reason
}

// ends shows the calls at which traces end.
func (p *page) ends(all []explain.End) {
	if len(all) == 0 {
		return
	}
	p.Section("calls that end traces")
	for i, e := range all {
		if i == ui.MostLines {
			p.Line(p.Faint.Render(fmt.Sprintf("  and %d more", len(all)-i)))
			break
		}
		then := ""
		if e.GoesOn {
			then = "another trace goes on behind it"
		}
		p.Para(fmt.Sprintf("  %5s  ", ui.Count(e.Traces)), ui.Clean(p.Join(p.Call(e.Line, e.Function), then)), lipgloss.NewStyle())
	}
}
