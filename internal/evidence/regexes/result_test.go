package regexes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

func TestOf(t *testing.T) {
	one := func(doing sample.RegexWork, line int, pattern string) sample.Sample {
		f := profile.Frame{Kind: profile.Lua, Function: "find", File: "/srv/app.lua", Line: line}
		if line == 0 {
			f = profile.Frame{}
		}
		return sample.Sample{Regex: &sample.Regex{Doing: doing, Pattern: pattern, At: f}}
	}
	l := sample.Series{Samples: append(times(30, sample.Sample{}), times(10, one(sample.RegexCompiled, 3, "a+"), one(sample.RegexInterpreted, 3, "a+"))...)}
	l.Samples = append(l.Samples, times(40, one(sample.RegexCompiling, 4, ""))...)
	l.Samples = append(l.Samples, times(19, one(sample.RegexLua, 3, "%d"))...)
	l.Samples = append(l.Samples, one(sample.RegexInterpreted, 0, ""))
	want := []Line{
		{Line: "find@app.lua:4", Share: 0.4, Compiling: 0.4, Samples: 40},
		{Line: "find@app.lua:3", Pattern: "%d", Share: 0.19, Lua: 0.19, Samples: 19},
		{Line: "find@app.lua:3", Pattern: "a+", Share: 0.1, Compiled: 0.05, Interpreted: 0.05, Samples: 10},
		{Share: 0.01, Interpreted: 0.01, Samples: 1},
	}
	got := Of(l).Lines
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

func TestAdvice(t *testing.T) {
	for _, x := range []struct {
		regex Line
		want  string
	}{
		{Line{Interpreted: 0.5}, `"jo" have it compiled`},
		{Line{Interpreted: 0.5, Options: "o"}, `"jo" have it compiled`},
		{Line{Interpreted: 0.5, Options: "jo"}, `has option "j", yet`},
		{Line{Interpreted: 0.5, Compiled: 0.1, Options: "jo"}, ""}, // short matches: it is on its way to the machine code
		{Line{Compiling: 0.5, Options: "j"}, `option "o" keeps it`},
		{Line{Compiling: 0.5, Options: "jo"}, `has option "o", yet`},
		{Line{Compiled: 0.5, Options: "jo"}, "backtracking"},
		{Line{Lua: 0.5}, "ngx.re"},
	} {
		x.regex.Line, x.regex.Share, x.regex.Samples = "f@app.lua:1", 0.5, 50
		if got := x.regex.advice(); !strings.Contains(got, x.want) || x.want == "" && got != "" {
			t.Errorf("%+v: %q", x.regex, got)
		}
		x.regex.Samples = 2
		if got := x.regex.advice(); got != "" {
			t.Errorf("of two looks: %q", got)
		}
	}
}

func times(n int, samples ...sample.Sample) []sample.Sample {
	var all []sample.Sample
	for i := range n {
		all = append(all, samples[i%len(samples)])
	}
	return all
}
