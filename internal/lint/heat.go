package lint

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/profile"
)

// A place is a line of a file as a profile names it.
type place struct {
	file string
	line int
}

// lines is what part of a profile's time lies in each Lua line, with the C code that it calls.
type lines struct {
	share  map[place]float64
	byBase map[string][]string // files of the profile, by their last name
}

// inBlock is how the Lua module names the code of a block: "content_by_lua(nginx.conf:9)". Its line 1 is that of the directive.
var inBlock = regexp.MustCompile(`^\w+_by_lua\((.+):(\d+)\)$`)

func linesOf(p *profile.Profile) lines {
	l := lines{share: map[place]float64{}, byBase: map[string][]string{}}
	total := float64(p.Total())
	if total == 0 {
		return l
	}
	for _, s := range p.Stacks {
		for _, f := range slices.Backward(s.Frames) {
			if f.Kind != profile.Lua {
				continue
			}
			at := place{f.File, f.Line}
			if m := inBlock.FindStringSubmatch(f.File); m != nil {
				first, _ := strconv.Atoi(m[2])
				at = place{m[1], first + f.Line - 1}
			}
			if f.Line > 0 {
				l.add(at, float64(s.Count)/total)
			}
			break
		}
	}
	return l
}

func (l lines) add(at place, share float64) {
	base := filepath.Base(at.file)
	if !slices.Contains(l.byBase[base], at.file) {
		l.byBase[base] = append(l.byBase[base], at.file)
	}
	l.share[at] += share
}

// of is the share of a line. The files of a profile are those of the machine where it was taken: of those with the file's name the
// one counts whose folders are most alike, and none where two are equally so.
func (l lines) of(file string, line int) float64 {
	absolute, err := filepath.Abs(file)
	if err != nil {
		absolute = file
	}
	best, most, several := "", 0, false
	for _, other := range l.byBase[filepath.Base(file)] {
		n := alike(absolute, other)
		switch {
		case n > most:
			best, most, several = other, n, false
		case n == most:
			several = true
		}
	}
	if several {
		return 0
	}
	return l.share[place{best, line}]
}

// alike is how many names at the end of two paths are the same.
func alike(a, b string) (n int) {
	x, y := strings.Split(filepath.ToSlash(a), "/"), strings.Split(filepath.ToSlash(b), "/")
	for n < len(x) && n < len(y) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}

// Join gives findings the heat of their lines in a profile.
func (r *Report) Join(p *profile.Profile) {
	l := linesOf(p)
	for i := range r.Findings {
		h := &r.Findings[i].Heat
		h.From, h.Share = "profile", l.of(r.Findings[i].File, r.Findings[i].Line)
	}
}
