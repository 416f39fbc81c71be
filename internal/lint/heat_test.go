package lint

import (
	"testing"

	"github.com/moonlap/moonlap/internal/profile"
)

// TestJoin: a line's heat is the time of stacks whose innermost Lua is there, found by the end of its path.
func TestJoin(t *testing.T) {
	lua := func(file string, line int) profile.Frame {
		return profile.Frame{File: file, Line: line, Kind: profile.Lua}
	}
	var p profile.Profile
	p.Add([]profile.Frame{lua("/opt/app/lua/handler.lua", 1), lua("/opt/app/lua/util.lua", 7), {Function: "memcpy", Kind: profile.C}}, nil, 60)
	p.Add([]profile.Frame{lua("/opt/app/lua/handler.lua", 3)}, nil, 20)
	p.Add([]profile.Frame{lua("/opt/other/handler.lua", 3)}, nil, 10)
	p.Add([]profile.Frame{lua("content_by_lua(nginx.conf:9)", 2)}, nil, 6)
	p.Add([]profile.Frame{{Function: "main", Kind: profile.C}}, nil, 4)
	r := Report{}
	want := map[place]float64{
		{"src/app/lua/util.lua", 7}: 0.6, {"src/app/lua/handler.lua", 3}: 0.2, {"src/app/lua/handler.lua", 1}: 0,
		{"conf/nginx.conf", 10}: 0.06, {"src/x/handler.lua", 3}: 0, {"src/new.lua", 1}: 0,
	}
	for at := range want {
		r.Findings = append(r.Findings, Finding{Rule: "x", File: at.file, Line: at.line})
	}
	r.Join(&p)
	r.Rank()
	for i, f := range r.Findings {
		if w := want[place{f.File, f.Line}]; f.Heat.Share != w || f.Heat.From != "profile" {
			t.Errorf("%s:%d: %+v, want %g", f.File, f.Line, f.Heat, w)
		}
		if i > 0 && f.Heat.Share > r.Findings[i-1].Heat.Share {
			t.Errorf("%s:%d is hotter than what stands before it", f.File, f.Line)
		}
	}
}
