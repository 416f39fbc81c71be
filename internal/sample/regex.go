package sample

import (
	"strings"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/worker"
)

// A Regex is what a sample does with a regular expression, or with one of Lua's own patterns.
type Regex struct {
	Doing RegexWork
	// Pattern is the one that the line gives to what it calls, where it is written there; "": that is not known.
	Pattern string
	Options string        // of ngx.re, likewise
	At      profile.Frame // line that asked for it; zero where nginx did
}

// RegexWork is what is done with it.
type RegexWork string

// What is done with regular expressions.
const (
	RegexCompiled    RegexWork = "compiled"    // matched by machine code of PCRE's
	RegexInterpreted RegexWork = "interpreted" // matched by PCRE's interpreter, or on the way to machine code
	RegexCompiling   RegexWork = "compiling"   // the pattern is read, studied, and perhaps compiled
	RegexLua         RegexWork = "lua pattern" // string.find, match, gmatch, gsub
)

// pcreCode stands for machine code that PCRE has made of a regular expression.
const pcreCode = "(compiled regular expression)"

// namePCRE names machine code that PCRE called, on a stack whose first frame may be such.
func namePCRE(stack []profile.Frame) {
	for i, f := range stack[:max(0, len(stack)-1)] {
		if f.Function == worker.NoFile && (isPCRE(stack[i+1]) || matches(stack[i+1].Function)) {
			stack[i].Function = pcreCode
		}
	}
}

// isPCRE reports whether a frame is in PCRE's library: libpcre.so.3, libpcre2-8.so.0.
func isPCRE(f profile.Frame) bool { return strings.HasPrefix(f.File, "libpcre") }

// matches reports whether a function is one by which PCRE or PCRE2 matches, which nginx exports where they are linked
// into it; prepares, one by which they compile.
func matches(function string) bool {
	switch function {
	case "pcre_exec", "pcre_jit_exec", "pcre_dfa_exec", "pcre2_match_8", "pcre2_jit_match_8", "pcre2_dfa_match_8":
		return true
	}
	return false
}

func prepares(function string) bool {
	switch function {
	case "pcre_compile", "pcre_compile2", "pcre_study", "pcre2_compile_8", "pcre2_jit_compile_8":
		return true
	}
	return strings.HasPrefix(function, "ngx_") && strings.HasSuffix(function, "_lua_ffi_compile_regex")
}

// regexOf tells what a stack does with a regular expression, "" where it does nothing with one. What Lua called
// counts: not the frames outside of it.
func regexOf(stack []profile.Frame) RegexWork {
	for _, f := range stack {
		switch {
		case f.Kind == profile.Lua:
			return ""
		case f.Kind == profile.Builtin:
			switch f.Function {
			case "string.find", "string.match", "string.gmatch", "string.gsub":
				return RegexLua
			}
			return ""
		case f.Function == pcreCode:
			return RegexCompiled
		case prepares(f.Function):
			return RegexCompiling
		case matches(f.Function):
			return RegexInterpreted
		}
	}
	return ""
}

// isRegexAPI reports whether a file is of what makes ngx.re: lua-resty-core, and its cache, which has returned when PCRE
// is called, but may be all that a trace knows then.
func isRegexAPI(file string) bool {
	return strings.Contains(file, "resty/core/") || strings.Contains(file, "resty/lrucache")
}

// A lineCall is a line of a function.
type lineCall struct {
	file        string
	first, line int
}

// regex fills in what a sample, whose stack is there, does with a regular expression.
func (w *Worker) regex(s *Sample, frames []luajit.Frame) {
	doing := regexOf(s.Stack)
	if doing == "" {
		return
	}
	r := &Regex{Doing: doing}
	s.Regex = r
	for _, f := range frames {
		if f.Kind != luajit.Lua || isRegexAPI(f.File) {
			continue
		}
		r.At = w.LuaFrame(f)
		at := lineCall{f.File, f.FirstLn, f.Line}
		args, ok := w.arguments[at]
		if !ok {
			if w.arguments == nil {
				w.arguments = map[lineCall][]string{}
			}
			args = w.VM.ConstantArguments(f)
			w.arguments[at] = args
		}
		r.Pattern, r.Options = regexCall(args)
		if doing == RegexLua {
			r.Options = ""
		}
		return
	}
}

// regexCall is what a call's arguments say: subject, pattern, options; or subject, pattern, replacement, options.
// Which of these it is, a trace may not tell: a third argument is taken for options if it asks for j or o.
func regexCall(args []string) (pattern, options string) {
	isOptions := func(s string) bool { return strings.ContainsAny(s, "jo") && strings.Trim(s, "adDijmosuUx") == "" }
	switch {
	case len(args) < 2:
		return "", ""
	case len(args) > 3 && isOptions(args[3]):
		options = args[3]
	case len(args) > 2 && isOptions(args[2]):
		options = args[2]
	}
	return args[1], options
}
