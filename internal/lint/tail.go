package lint

import (
	"os"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/profile"
)

// tails is the time of tail calls, by finding. While `return f(…)` runs, the function that it stands in is gone from the stack, so a
// profile has its time at the line that called this function. There, what is called is not what the line names: that gives it away.
// Where several tail calls may be meant, each gets all of the time, as an upper bound.
func (r *Report) tails(stacks []hot) map[int]float64 {
	var candidates []int
	for i, f := range r.Findings {
		if f.Heat.Tail != "" {
			candidates = append(candidates, i)
		}
	}
	time, unsure := map[int]float64{}, map[int]float64{}
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
			time[i] += s.share
			if len(meant) > 1 {
				unsure[i] += s.share
			}
			if unsure[i] > time[i]/2 {
				r.Findings[i].Heat.Alike = len(meant) - 1
			} else {
				r.Findings[i].Heat.Alike = 0
			}
		}
	}
	return time
}

// runs reports whether a frame is of a function, as code names it: "ngx.re.gsub", whose parts are in resty.core.
func runs(f *profile.Frame, function string) bool {
	if strings.HasPrefix(function, "ngx.re.") {
		return strings.HasSuffix(f.File, "resty/core/regex.lua")
	}
	return last(f.Function) == last(function)
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
