package regexes

import "strings"

// advice is what to try against what takes most of the time.
func (r Line) advice() string {
	const fewest, little = 5, 0.05 // samples, fewer are chance; share
	most := max(r.Compiled, r.Interpreted, r.Compiling, r.Lua)
	switch {
	case r.Samples < fewest || r.Share < little || r.Line == "":
		return ""
	case max(r.Interpreted, r.Compiled) == most && backtracks(r.Pattern) != "":
		return "it backtracks: " + backtracks(r.Pattern) + " repeats what repeats itself, so a subject that does not match is tried in all ways, " +
			"twice as many with each letter; repeat once, or take a possessive repeat, ++ for +"
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
