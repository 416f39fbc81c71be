package regexes

import (
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/ui"
)

func TestText(t *testing.T) {
	p := ui.NewPage(ui.Options{Width: 100})
	(&Result{Lines: []Line{
		{Line: "find@app.lua:3", Pattern: "a+\x1b[2J\n", Options: "o", Share: 0.5, Compiled: 0.1, Interpreted: 0.4, Advice: "try it"},
		{Line: "find@app.lua:4", Share: 0.25, Lua: 0.25, Advice: "try it"}, {Share: 0.01, Compiling: 0.01},
	}}).Text(p, "")
	want := `regular expressions
   50 %  find@app.lua:3 · a+ with "o"
         10 % in the pattern's machine code · 40 % in PCRE's interpreter, or on the way to machine
         code
         → try it
   25 %  find@app.lua:4
         25 % in Lua's own patterns
    1 %  nginx, outside of Lua
         1 % compiling the pattern`
	if got := p.String(); strings.TrimSpace(got) != want {
		t.Errorf("%s", got)
	}
}
