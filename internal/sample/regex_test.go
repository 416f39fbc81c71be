package sample

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker"
)

// TestRegexes: what a worker does with regular expressions is reported, with the pattern and the line, in samples that
// stop it and in those of the kernel.
func TestRegexes(t *testing.T) {
	server := ""
	for _, scene := range regexScenes {
		server += fmt.Sprintf(`location = /%s { content_by_lua_block { require("regexes").%s() } }`, scene.name, scene.name)
	}
	pid, client := nginxWith(t, `lua_package_path "$prefix/?.lua;./?.lua;;";`, server)
	w := open(t, pid)
	for _, scene := range regexScenes {
		t.Run(scene.name, func(t *testing.T) {
			defer nginxtest.Request(t, client, "/"+scene.name)()
			scene.check(t, func() []Sample {
				if s, err := w.Sample(); err == nil {
					time.Sleep(time.Millisecond)
					return []Sample{s}
				}
				return nil
			})
		})
	}
	s := sampler(t)
	for _, scene := range regexScenes {
		t.Run(scene.name+" by ticks", func(t *testing.T) {
			defer nginxtest.Request(t, client, "/"+scene.name)()
			scene.check(t, func() []Sample {
				looks, err := w.Ticks(t.Context(), s, 200*time.Millisecond, 500, noTick)
				if err != nil {
					t.Fatal(err)
				}
				if looks.Failed > 2+len(looks.Samples)/10 {
					t.Errorf("%d of %d failed: %v", looks.Failed, looks.Failed+len(looks.Samples), looks.LastErr)
				}
				return looks.Samples
			})
		})
	}
}

type regexScene struct {
	name  string
	regex Regex
	line  int // of testdata/regexes.lua
}

var regexScenes = []regexScene{
	{"compiled", Regex{Doing: RegexCompiled, Pattern: `nee+dle\d+`, Options: "jo"}, 7},
	{"interpreted", Regex{Doing: RegexInterpreted, Pattern: `nee+dle\d\d`, Options: "o"}, 11},
	{"backtracking", Regex{Doing: RegexCompiled, Pattern: `^(a+)+$`, Options: "jo"}, 15},
	{"anew", Regex{Doing: RegexCompiling, Pattern: "", Options: ""}, 20},
	{"replaced", Regex{Doing: RegexCompiled, Pattern: `(?:n|x)ee+dle(\d+)`, Options: "jo"}, 26},
	{"patterns", Regex{Doing: RegexLua, Pattern: "n.*ee%d%d%d", Options: ""}, 31},
	{"two", Regex{Doing: RegexCompiled}, 43},
	{"variable", Regex{Doing: RegexCompiled}, 49},
	{"iterated", Regex{Doing: RegexLua, Pattern: "[%a][%a][%a]+", Options: ""}, 37},
}

// check looks until there are enough samples that work on regular expressions; nearly all of them do as they should,
// and have all their frames.
func (scene regexScene) check(t *testing.T, look func() []Sample) {
	t.Helper()
	const enough = 60
	seen, right, partial := 0, 0, 0
	others := map[string]int{}
	for end := time.Now().Add(time.Minute); seen < enough && time.Now().Before(end); {
		for _, s := range look() {
			if s.Regex == nil || s.Request.URI != "/"+scene.name {
				continue
			}
			seen++
			if s.Partial != nil {
				partial++
			}
			got, want := *s.Regex, scene.regex
			if want.At = got.At; got == want && strings.HasSuffix(got.At.File, "regexes.lua") && got.At.Line == scene.line {
				right++
			} else {
				others[fmt.Sprintf("%+v %v", got, describe(s.Stack))]++
			}
		}
	}
	if seen < enough || right < seen*7/10 || partial > seen/5 {
		t.Errorf("of %d samples %d do as they should, %d have not all frames; others: %v", seen, right, partial, others)
	}
}

// TestRegexOf: PCRE and PCRE2, as a library and linked into nginx.
func TestRegexOf(t *testing.T) {
	c := func(function, file string) profile.Frame {
		return profile.Frame{Kind: profile.C, Function: function, File: file}
	}
	ffi := c("ngx_http_lua_ffi_exec_regex", "ngx_http_lua_module.so")
	lua := profile.Frame{Kind: profile.Lua, Function: "find", File: "/app.lua", Line: 3}
	builtin := func(name string) profile.Frame { return profile.Frame{Kind: profile.Builtin, Function: name} }
	code := c(worker.NoFile, "")
	kernel := profile.Frame{Kind: profile.Kernel, Function: "do_syscall_64"}
	for _, x := range []struct {
		want  RegexWork
		stack []profile.Frame
	}{
		{"", nil},
		{"", []profile.Frame{lua}},
		{"", []profile.Frame{ffi, lua}},  // on its way there
		{"", []profile.Frame{code, lua}}, // of some other compiler
		{RegexCompiled, []profile.Frame{code, c("libpcre2-8.so.0.11.2+0x1230", "libpcre2-8.so.0.11.2"), c("pcre2_match_8", "libpcre2-8.so.0.11.2"), ffi, lua}},
		{RegexCompiled, []profile.Frame{code, c("pcre_exec", "nginx"), ffi, lua}},
		{RegexCompiled, []profile.Frame{kernel, code, c("pcre_exec", "libpcre.so.3.13.3"), ffi, lua}},
		{RegexInterpreted, []profile.Frame{c("libpcre2-8.so.0.11.2+0x1230", "libpcre2-8.so.0.11.2"), c("pcre2_match_8", "libpcre2-8.so.0.11.2"), ffi, lua}},
		{RegexInterpreted, []profile.Frame{c("nginx+0x1230", "nginx"), c("pcre_exec", "nginx"), ffi, lua}},
		{RegexInterpreted, []profile.Frame{c("pcre2_match_8", "libpcre2-8.so.0.11.2"), c("ngx_regex_exec", "nginx"), c("main", "nginx")}}, // of a location
		{RegexCompiling, []profile.Frame{c("memcpy", "libc.so.6"), c("pcre2_jit_compile_8", "libpcre2-8.so.0.11.2"), c("ngx_http_lua_ffi_compile_regex", ""), lua}},
		{RegexCompiling, []profile.Frame{c("pcre_study", "nginx"), c("ngx_stream_lua_ffi_compile_regex", "nginx"), lua}},
		{RegexLua, []profile.Frame{c("libluajit-5.1.so.2.1.0+0x617c0", "libluajit-5.1.so.2.1.0"), builtin("string.gsub"), lua}},
		{"", []profile.Frame{builtin("string.format"), lua}},
		{"", []profile.Frame{lua, builtin("string.gsub"), lua}}, // what it calls back
	} {
		stack := slices.Clone(x.stack)
		namePCRE(stack)
		if got := regexOf(stack); got != x.want {
			t.Errorf("%q, not %q: %v", got, x.want, describe(x.stack))
		}
	}
}

func TestRegexCall(t *testing.T) {
	for _, x := range []struct {
		args             []string
		pattern, options string
	}{
		{nil, "", ""},
		{[]string{"", "a+"}, "a+", ""},
		{[]string{"", "a+", "jo"}, "a+", "jo"},
		{[]string{"", "a+", "ijo", ""}, "a+", "ijo"},
		{[]string{"", "a+", "x", "jo"}, "a+", "jo"},
		{[]string{"", "a+", "x"}, "a+", ""}, // a replacement
		{[]string{"", "a+", "<$1>", ""}, "a+", ""},
		{[]string{"", "a+", "job"}, "a+", ""},
	} {
		if pattern, options := regexCall(x.args); pattern != x.pattern || options != x.options {
			t.Errorf("%q: %q, %q", x.args, pattern, options)
		}
	}
}
