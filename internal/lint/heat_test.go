package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/compiler"
	lua "github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestJoin: a line's heat is the time of stacks whose innermost Lua of the linted files is there, found by the end of its path; a
// range of lines shares it.
func TestJoin(t *testing.T) {
	lua := func(file string, line int) profile.Frame {
		return profile.Frame{File: file, Line: line, Kind: profile.Lua}
	}
	var p profile.Profile
	p.Add([]profile.Frame{lua("/opt/app/lua/handler.lua", 1), lua("/opt/app/lua/util.lua", 7), {Function: "memcpy", Kind: profile.C}}, nil, 60)
	p.Add([]profile.Frame{lua("/opt/app/lua/handler.lua", 3)}, nil, 20)
	p.Add([]profile.Frame{lua("/opt/other/handler.lua", 3)}, nil, 10)
	p.Add([]profile.Frame{lua("content_by_lua(nginx.conf:9)", 2)}, nil, 6)
	p.Add([]profile.Frame{{Function: "main", Kind: profile.C}}, nil, 2)
	p.Add([]profile.Frame{lua("src/new.lua", 5), {File: "/usr/share/resty/core/regex.lua", Line: 7, LastLine: 9, Kind: profile.Lua}}, nil, 1)
	p.Add([]profile.Frame{{File: "src/new.lua", Line: 6, LastLine: 7, Kind: profile.Lua}}, nil, 1)
	r := Report{}
	want := map[place]float64{
		{"src/app/lua/util.lua", 7}: 0.6, {"src/app/lua/handler.lua", 3}: 0.2, {"src/app/lua/handler.lua", 1}: 0,
		{"conf/nginx.conf", 10}: 0.06, {"src/x/handler.lua", 3}: 0, {"src/new.lua", 1}: 0, {"src/new.lua", 5}: 0.01,
		{"src/new.lua", 6}: 0.005,
	}
	for at := range want {
		r.Findings = append(r.Findings, Finding{Rule: "x", File: at.file, Line: at.line})
		r.sources = append(r.sources, source{at.file, Request})
	}
	r.Join(Measured{Profile: &p}, nil)
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

// TestJoinOfAnotherFile: a file of the same name that is on this machine, or of lua-resty-core, is another one; a link is the same.
func TestJoinOfAnotherFile(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, map[string]string{"app/request.lua": "return 1\n", "lib/request.lua": "return 2\n"})
	if err := os.Symlink(filepath.Join(folder, "app"), filepath.Join(folder, "deployed")); err != nil {
		t.Fatal(err)
	}
	linted := filepath.Join(folder, "app/request.lua")
	r := Report{sources: []source{{linted, Request}}}
	for named, want := range map[string]string{
		linted: linted, filepath.Join(folder, "deployed/request.lua"): linted, "/srv/elsewhere/request.lua": linted,
		filepath.Join(folder, "lib/request.lua"): "", "/opt/share/resty/core/request.lua": "",
	} {
		if got, _ := r.sourceOf(named); got != want {
			t.Errorf("%s is taken for %q, not %q", named, got, want)
		}
	}
}

// TestExplain: what a profile saw interpreted stands at the line that was in the way, under the rule that explains it; a rule that
// is off, or that a comment silences, says nothing; what nobody can change is left out.
func TestExplain(t *testing.T) {
	roots := []compiler.Root{
		{File: "/srv/app/a.lua", Line: 3, Share: 0.3, Cause: lua.Blacklisted, Reason: "NYI: bytecode", Obstacles: []compiler.Obstacle{{Code: "FNEW", Line: 4}}},
		{File: "/srv/app/a.lua", Line: 9, Share: 0.2, Cause: lua.FunctionOff},
		{File: "/srv/app/a.lua", Line: 20, Share: 0.1, Cause: lua.Left, Call: &compiler.Call{Function: "unpack", Line: "f@/srv/app/b.lua:7"}},
		{File: "/srv/app/a.lua", Line: 30, Share: 0.1, Cause: lua.Left},
		{File: "/srv/app/a.lua", Line: 31, Share: 0.1, Cause: lua.NotTried},
		{File: "/srv/app/a.lua", Line: 32, Share: 0.1, Cause: lua.FunctionOff},
		{File: "/srv/other.lua", Line: 1, Share: 0.1, Cause: lua.FunctionOff},
		{File: "/srv/app/a.lua", Line: 40, Share: 0.4, Cause: lua.Penalized, Reason: "inner loop in root trace", Remedy: "usual: the inner loop has a trace of its own"},
	}
	p := &profile.Profile{Evidence: evidence.Set{compiler.Name: &compiler.Result{Roots: roots}}}
	r := Report{
		sources:  []source{{"app/a.lua", Request}, {"app/b.lua", Request}},
		ignored:  map[ignore]bool{{place{"app/a.lua", 32}, Interpreted}: true},
		prices:   Prices{"closure-in-loop": {Verdict: record.Slower, Bad: 100, Difference: record.Interval{Estimate: 50}}},
		Findings: []Finding{{Rule: "unpack", File: "app/b.lua", Line: 7}},
	}
	r.Join(Measured{Profile: p}, []Rule{{Name: "closure-in-loop"}, {Name: "unpack"}, {Name: Interpreted}})
	r.Rank()
	var got []string
	for _, f := range r.Findings {
		if f.Level == Note {
			f.Message = "note: " + f.Message
		}
		got = append(got, fmt.Sprintf("%s:%d %s %g %t %s", f.File, f.Line, f.Rule, f.Heat.Interpreted, f.Price != nil, f.Message))
	}
	want := []string{
		"app/a.lua:4 closure-in-loop 0.3 true interpreted: NYI: bytecode (it has FNEW at line 4); given up for good",
		"app/a.lua:9 interpreted 0.2 false interpreted: jit.off for the function",
		"app/b.lua:7 unpack 0.1 false ",
		"app/a.lua:40 interpreted 0.4 false note: interpreted: inner loop in root trace; given up, to be tried again; usual: the inner loop has a trace of its own",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestGain: of a line's time a change may spare the part that the bad side of the pair takes more, and nothing of a cold line.
func TestGain(t *testing.T) {
	var p profile.Profile
	p.Add([]profile.Frame{{File: "/srv/a.lua", Line: 1, Kind: profile.Lua}}, nil, 40)
	p.Add([]profile.Frame{{File: "/srv/a.lua", Line: 2, Kind: profile.Lua}}, nil, 60)
	price := &Price{Verdict: record.Slower, Bad: 200, Good: 50, Difference: record.Interval{Estimate: 150, Low: 150, High: 150}}
	r := Report{sources: []source{{"a.lua", Request}}, Findings: []Finding{{File: "a.lua", Line: 1, Price: price}, {File: "a.lua", Line: 2}, {File: "a.lua", Line: 3, Price: price}}}
	r.Join(Measured{&p, 1000}, nil)
	if g := r.Findings[0].Gain; g == nil || g.Share < 0.2999 || g.Share > 0.3001 || g.NS < 299.9 || g.NS > 300.1 {
		t.Errorf("%+v, want 0.3 and 300 ns", g)
	}
	if g := r.Findings[0].Gain; g.Low < 0.2 || g.Low > 0.25 || g.High < 0.35 || g.High > 0.4 {
		t.Errorf("%+v, want the ends that 40 of 100 samples leave open", g)
	}
	r.Findings[0].Heat.sometimes = true
	r.Join(Measured{&p, 1000}, nil)
	if g := r.Findings[0].Gain; g.Low != 0 || g.Share < 0.2999 {
		t.Errorf("%+v, want nothing as the least, as only some calls gain", g)
	}
	if r.Findings[1].Gain != nil || r.Findings[2].Gain != nil {
		t.Errorf("%+v, %+v", r.Findings[1].Gain, r.Findings[2].Gain)
	}
}

// TestTailCall: a profile has the time of a tail call at the line of its caller, so its own line is not called cold.
func TestTailCall(t *testing.T) {
	s := NewSession(Options{LuaJIT: luajit(t), Settings: &Settings{Root: "."}, Rules: BuiltIn(), Class: Request})
	defer s.Close()
	r := s.Text("a.lua", []byte("function f(s)\n  local m = ngx.re.match(s, 'a')\n  if m then return m, ngx.re.match(s, 'b') end\n  return ngx.re.match(s, 'c')\nend\n"))
	var p profile.Profile
	p.Add([]profile.Frame{{Function: "main", Kind: profile.C}}, nil, 1)
	r.Join(Measured{Profile: &p}, nil)
	var got []string
	for _, f := range r.Findings {
		if f.Rule == "regex-flags" {
			got = append(got, fmt.Sprintf("%d %s", f.Line, f.Heat.text(ui.NewPage(ui.Options{}).Glyphs)))
		}
	}
	want := []string{"2 cold in the profile", "3 cold in the profile", "4 a tail call, whose time a profile has at its caller's line"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
