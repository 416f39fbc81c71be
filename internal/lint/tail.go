package lint

import (
	"os"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/profile"
)

// A tail is a tail call's share of the time: how much it is likely to be, and at least and at most.
type tail struct{ share, least, most float64 }

// tails is the time of tail calls, by finding. While `return f(…)` runs, the function that it stands in is gone from the stack, so a
// profile has its time at the line that called this function. There, what is called is not what the line names: that gives it away.
// Where several tail calls may be meant, they share the time, and each may have all of it or none.
func (r *Report) tails(stacks []hot) map[int]tail {
	var candidates []int
	for i, f := range r.Findings {
		if f.Heat.Tail != "" {
			candidates = append(candidates, i)
		}
	}
	time := map[int]tail{}
	if len(candidates) == 0 {
		return time
	}
	texts := map[string][]string{}
	for _, s := range stacks {
		if s.calls == nil {
			continue
		}
		text := lineOf(texts, s.place)
		meant := slices.DeleteFunc(slices.Clone(candidates), func(i int) bool {
			h := r.Findings[i].Heat
			return !runs(s.calls, h.Tail) || strings.Contains(text, last(h.Tail))
		})
		// The line names the function around the tail call, or it calls one that it does not name.
		named := slices.DeleteFunc(slices.Clone(meant), func(i int) bool { return !calls(text, r.Findings[i].Heat.function) })
		if len(named) > 0 {
			meant = named
		}
		for _, i := range meant {
			t := time[i]
			t.share += s.share / float64(len(meant))
			t.most += s.share
			if len(meant) == 1 {
				t.least += s.share
			}
			time[i] = t
			if r.Findings[i].Heat.Alike = 0; t.least < t.share/2 {
				r.Findings[i].Heat.Alike = len(meant) - 1
			}
		}
	}
	return time
}

// runs reports whether a frame is of a function, as code names it: "ngx.re.gsub", whose parts are in resty.core.
func runs(f *profile.Frame, function string) bool {
	if strings.HasPrefix(function, "ngx.re.") {
		return strings.HasSuffix(f.File, "resty/core/regex.lua") && family(f.Function) == family(last(function))
	}
	return last(f.Function) == last(function)
}

// family is which functions of ngx.re a part of resty.core serves, by its name: "re_sub_str_helper" is of sub and gsub.
func family(function string) string {
	for _, of := range []string{"gmatch", "sub"} {
		if strings.Contains(function, of) {
			return of
		}
	}
	return "match"
}

// calls reports whether a line calls a function of that name.
func calls(line, name string) bool {
	_, behind, found := strings.Cut(line, name)
	return name != "" && found && strings.HasPrefix(strings.TrimLeft(behind, " "), "(")
}

// last is the last name of a dotted one.
func last(name string) string { return name[strings.LastIndexAny(name, ".:")+1:] }

// lineOf is the text of a line; "" where the file cannot be read.
func lineOf(files map[string][]string, at place) string {
	lines, known := files[at.file]
	if !known {
		if text, err := os.ReadFile(at.file); err == nil {
			lines = strings.Split(string(text), "\n")
		}
		files[at.file] = lines
	}
	if at.line > len(lines) {
		return ""
	}
	return lines[at.line-1]
}
