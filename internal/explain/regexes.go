package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/worker"
)

// A Regex is the samples that work on regular expressions, or on patterns of Lua's own, in one line of Lua. Shares
// are of all samples, or of their time.
type Regex struct {
	Line    string  `json:"line"`              // function@file:line, outside of lua-resty-core; "" where nginx matches without Lua
	Pattern string  `json:"pattern,omitempty"` // where the line gives it as a constant, and no other
	Options string  `json:"options,omitempty"` // of ngx.re, likewise
	Share   float64 `json:"share"`

	Compiled    float64 `json:"compiled"`    // the part in machine code of PCRE's
	Interpreted float64 `json:"interpreted"` // in PCRE's interpreter, and on the way to machine code
	Compiling   float64 `json:"compiling"`   // in which patterns were compiled
	Lua         float64 `json:"lua_pattern"` // in string.find, match, gmatch, gsub
	Looks       int     `json:"looks"`
	Advice      string  `json:"advice,omitempty"`
}

// Regexes are the samples that work on regular expressions, those with the largest share first.
func Regexes(l worker.Looks) []Regex {
	index := map[Regex]int{}
	all := []Regex{}
	whole := max(1, l.Total(l.Samples))
	for _, s := range l.Samples {
		if s.Regex == nil {
			continue
		}
		k := Regex{Line: s.Regex.At.Where(), Pattern: s.Regex.Pattern, Options: s.Regex.Options}
		i, ok := index[k]
		if !ok {
			i = len(all)
			index[k] = i
			all = append(all, k)
		}
		share := l.Weight(s) / whole
		all[i].Looks++
		all[i].Share += share
		switch s.Regex.Doing {
		case worker.RegexCompiled:
			all[i].Compiled += share
		case worker.RegexInterpreted:
			all[i].Interpreted += share
		case worker.RegexCompiling:
			all[i].Compiling += share
		case worker.RegexLua:
			all[i].Lua += share
		}
	}
	for i := range all {
		all[i].Advice = all[i].advice()
	}
	slices.SortStableFunc(all, func(a, b Regex) int { return cmp.Compare(b.Share, a.Share) })
	return all
}

// advice is what to try against what takes most of the time.
func (r Regex) advice() string {
	const fewest, little = 5, 0.05 // looks, less are chance; share
	most := max(r.Compiled, r.Interpreted, r.Compiling, r.Lua)
	switch {
	case r.Looks < fewest || r.Share < little || r.Line == "":
		return ""
	case r.Compiling == most && !strings.Contains(r.Options, "o"):
		return `the pattern is compiled each time: option "o" keeps it compiled. Where it is there already, patterns differ each time, or are ` +
			"more than lua_regex_cache_max_entries (1024)"
	case r.Compiling == most:
		return `it has option "o", yet is compiled again and again: patterns differ each time, or are more than lua_regex_cache_max_entries (1024)`
	case r.Interpreted == most && r.Compiled < r.Interpreted/4 && !strings.Contains(r.Options, "j"):
		return `PCRE interprets it: options "jo" have it compiled to machine code, once`
	case r.Interpreted == most && r.Compiled == 0:
		return `it has option "j", yet PCRE interprets it: there is something in it that PCRE's compiler does not know, or PCRE was built without one`
	case r.Compiled == most:
		return "it is compiled, and matching takes the time: long subjects, or repeats within repeats, which are tried in all ways (backtracking)"
	case r.Lua == most:
		return `LuaJIT does not compile string.match, gmatch, gsub, nor string.find with a pattern; ngx.re with options "jo" is compiled`
	}
	return ""
}
