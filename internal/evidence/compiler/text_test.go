package compiler

import (
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestText: what kept code from being compiled is said in words, with what to try once.
func TestText(t *testing.T) {
	root := func(r Root) Root {
		r.Function, r.File, r.Line, r.Share = "f", "a.lua", 3, 0.2
		return r
	}
	r := &Result{
		Interpreted: 0.6, Leaving: 0.1, Traces: 12, MaxTraces: 1000, Area: 65e3, Flushes: 2,
		Roots: []Root{
			root(Root{Cause: luajit.Blacklisted, Loop: true, Reason: "NYI: bytecode", Obstacles: []Obstacle{{"FNEW", 5}}, Remedy: "try it"}),
			root(Root{Cause: luajit.Left, Branch: 9, Remedy: "try it"}), root(Root{Cause: luajit.Left, Call: &Call{"gsub", "f@a.lua:7\x1b[2J"}}),
			root(Root{Cause: luajit.Left, Full: true}), {Cause: luajit.NotKnown},
		},
		Causes: []Cause{{luajit.Blacklisted, "NYI: bytecode", 0.2}, {luajit.Left, "", 0.6}},
		Exits:  []Exit{{Trace: 7, Begins: "f@a.lua:3", To: "f@a.lua:4", Share: 0.1}},
		Ends:   []End{{Call{"gsub", "f@a.lua:7"}, true, 3}},
	}
	p := ui.NewPage(ui.Options{Width: 200})
	r.Text(p, "")
	got := p.String()
	for _, want := range []string{
		"interpreted: 60 %, because of\n", "20 %  f@a.lua:3, a loop: NYI: bytecode (it has FNEW at line 5) · given up for good\n", "→ try it",
		"given up, from line 9 on", "its trace ends where f@a.lua:7 calls gsub", "may have no more side traces", " not known\n",
		"causes   20 % given up for good · NYI: bytecode; ", "leaving traces: 10 %\n", "10 %  trace 7 of f@a.lua:3 → f@a.lua:4\n",
		"calls that end traces\n", "3  f@a.lua:7 → gsub · another trace goes on behind it\n",
		"12 of 1,000 at most · 65.0 kB for machine code · thrown away at least 2 times\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Count(got, "try it") != 1 || strings.Contains(got, "\x1b[2J") {
		t.Error(got)
	}
	p = ui.NewPage(ui.Options{Width: 80})
	if (&Result{}).Text(p, ""); p.String() != "" {
		t.Errorf("drawn of nothing: %s", p)
	}
}
