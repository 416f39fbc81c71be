package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestTails: the time of a tail call is that of the caller's line where this runs what it does not name. A line that names the function
// around the call tells which one it is; a line that does not may mean any, and a line that names the callee means none.
func TestTails(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, map[string]string{"a.lua": "local _M = {}\nfunction _M.trim(s)\n  return ngx.re.gsub(s, ' ', '')\nend\n" +
		"function _M.clean(s)\n  return ngx.re.gsub(s, 'x', '')\nend\nfunction _M.access(s)\n  s = _M.trim(s)\n  s = _M[s](s)\n" +
		"  return (ngx.re.gsub(s, 'y', '', 'jo'))\nend\nreturn _M\n"})
	path := filepath.Join(folder, "a.lua")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSession(Options{LuaJIT: luajit(t), Settings: &Settings{Root: folder}, Rules: BuiltIn(), Class: Request})
	defer s.Close()
	r := s.Text(path, text)
	r.sources = []source{{path, Request}}
	var p profile.Profile
	for line, count := range map[int]int64{9: 50, 10: 20, 11: 10} {
		p.Add([]profile.Frame{{File: path, Line: line, Kind: profile.Lua},
			{Function: "re_sub_str_helper", File: "/usr/share/lua/5.1/resty/core/regex.lua", Line: 1062, Kind: profile.Lua}}, nil, count)
	}
	p.Add([]profile.Frame{{File: path, Line: 9, Kind: profile.Lua}}, nil, 10)
	// Another function of ngx.re runs at a line that names it by another word: no tail call of gsub.
	p.Add([]profile.Frame{{File: path, Line: 10, Kind: profile.Lua},
		{Function: "re_match_helper", File: "/usr/share/lua/5.1/resty/core/regex.lua", Line: 619, Kind: profile.Lua}}, nil, 10)
	r.Join(Measured{Profile: &p}, nil)
	var got []string
	for _, f := range r.Findings {
		if f.Rule == "regex-flags" {
			got = append(got, fmt.Sprintf("%d %s", f.Line, f.Heat.text(ui.NewPage(ui.Options{}).Glyphs)))
		}
	}
	want := []string{"3 60 % of the profile's time in this line", "6 10 % of the profile's time in this line, or in 1 tail call alike"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
