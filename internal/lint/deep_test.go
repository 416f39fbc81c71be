package lint

import (
	"strings"
	"testing"
)

// TestTooDeep: what nests deeper than the engine can follow is named, and the other files are read.
func TestTooDeep(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, map[string]string{"deep.lua": "return f" + strings.Repeat("()", 30_000) + "\n", "fine.lua": "return function(s) return ngx.re.match(s, 'a') end\n"})
	r, err := Run(t.Context(), Options{LuaJIT: luajit(t), Paths: []string{folder}, Settings: &Settings{Root: folder}, Rules: BuiltIn(), Class: Request})
	if err != nil {
		t.Fatal(err)
	}
	findings, faults := told(t, folder, r)
	if len(faults) != 1 || faults[0] != "deep.lua:1:1: LuaJIT takes this, but it is nested too deep for moonlap" || len(findings) != 1 {
		t.Errorf("%v, %v", findings, faults)
	}
}
