package explain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/worker"
)

func TestRegexes(t *testing.T) {
	sample := func(doing worker.RegexWork, line int, pattern string) worker.Sample {
		f := worker.Frame{Kind: luajit.Lua, Function: "find", File: "/srv/app.lua", Line: line}
		if line == 0 {
			f = worker.Frame{}
		}
		return worker.Sample{Regex: &worker.Regex{Doing: doing, Pattern: pattern, At: f}}
	}
	l := worker.Looks{Samples: append(times(30, worker.Sample{}), times(10, sample(worker.RegexCompiled, 3, "a+"), sample(worker.RegexInterpreted, 3, "a+"))...)}
	l.Samples = append(l.Samples, times(40, sample(worker.RegexCompiling, 4, ""))...)
	l.Samples = append(l.Samples, times(19, sample(worker.RegexLua, 3, "%d"))...)
	l.Samples = append(l.Samples, sample(worker.RegexInterpreted, 0, ""))
	want := []Regex{
		{Line: "find@app.lua:4", Share: 0.4, Compiling: 0.4, Looks: 40},
		{Line: "find@app.lua:3", Pattern: "%d", Share: 0.19, Lua: 0.19, Looks: 19},
		{Line: "find@app.lua:3", Pattern: "a+", Share: 0.1, Compiled: 0.05, Interpreted: 0.05, Looks: 10},
		{Share: 0.01, Interpreted: 0.01, Looks: 1},
	}
	got := Regexes(l)
	for i, advice := range []string{`option "o"`, `ngx.re with options "jo"`, "backtracking", ""} {
		if i < len(got) {
			if !strings.Contains(got[i].Advice, advice) || advice == "" && got[i].Advice != "" {
				t.Errorf("%+v", got[i])
			}
			got[i].Advice = ""
		}
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
}

func TestRegexAdvice(t *testing.T) {
	for _, x := range []struct {
		regex Regex
		want  string
	}{
		{Regex{Interpreted: 0.5}, `"jo" have it compiled`},
		{Regex{Interpreted: 0.5, Options: "o"}, `"jo" have it compiled`},
		{Regex{Interpreted: 0.5, Options: "jo"}, `has option "j", yet`},
		{Regex{Interpreted: 0.5, Compiled: 0.1, Options: "jo"}, ""}, // short matches: it is on its way to the machine code
		{Regex{Compiling: 0.5, Options: "j"}, `option "o" keeps it`},
		{Regex{Compiling: 0.5, Options: "jo"}, `has option "o", yet`},
		{Regex{Compiled: 0.5, Options: "jo"}, "backtracking"},
		{Regex{Lua: 0.5}, "ngx.re"},
	} {
		x.regex.Line, x.regex.Share, x.regex.Looks = "f@app.lua:1", 0.5, 50
		if got := x.regex.advice(); !strings.Contains(got, x.want) || x.want == "" && got != "" {
			t.Errorf("%+v: %q", x.regex, got)
		}
		x.regex.Looks = 2
		if got := x.regex.advice(); got != "" {
			t.Errorf("of two looks: %q", got)
		}
	}
}
