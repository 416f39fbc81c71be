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

// inBlock is how the Lua module names the code of a block: "content_by_lua(nginx.conf:9)". Its line 1 is that of the directive.
var inBlock = regexp.MustCompile(`^\w+_by_lua\((.+):(\d+)\)$`)

// inConf is a place in nginx.conf, where the file is the name of a block in it.
func (at place) inConf() place {
	if m := inBlock.FindStringSubmatch(at.file); m != nil {
		first, _ := strconv.Atoi(m[2])
		return place{m[1], first + at.line - 1}
	}
	return at
}

// heatOf is what part of a profile's time lies in each line of the files that were linted, with what it calls elsewhere: C, and
// libraries as resty.core.
func (r *Report) heatOf(p *profile.Profile) map[place]float64 {
	heat := map[place]float64{}
	total := float64(p.Total())
	if total == 0 {
		return heat
	}
	sources := map[string]string{}
	for _, s := range p.Stacks {
		for _, f := range slices.Backward(s.Frames) {
			if f.Kind != profile.Lua || f.Line == 0 {
				continue
			}
			at := place{f.File, f.Line}.inConf()
			file, known := sources[at.file]
			if !known {
				file, _ = r.sourceOf(at.file)
				sources[at.file] = file
			}
			if file == "" {
				continue // a library's: it is time of the line that calls it
			}
			lines := max(1, f.LastLine-f.Line+1) // more than one where it is not known which
			for i := range lines {
				heat[place{file, at.line + i}] += float64(s.Count) / total / float64(lines)
			}
			break
		}
	}
	return heat
}

// alike is how many names at the end of two paths are the same.
func alike(a, b string) (n int) {
	x, y := strings.Split(filepath.ToSlash(a), "/"), strings.Split(filepath.ToSlash(b), "/")
	for n < len(x) && n < len(y) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}

// A Gain is what a change may spare at most: of the line's time the part that the bad side of the rule's pair takes more.
type Gain struct {
	Share float64 `json:"share"`                    // of all CPU time in the profile
	NS    float64 `json:"ns_per_request,omitempty"` // 0: how many requests there were is not known
}

// Measured is what a profile is of.
type Measured struct {
	Profile    *profile.Profile
	PerRequest float64 // CPU time of the server in ns; 0: not known
}

// Join gives findings the heat of their lines in a profile, and what there is to gain; the rules that are on explain what the
// profile saw interpreted.
func (r *Report) Join(m Measured, on []Rule) {
	r.explain(m.Profile, on)
	heat := r.heatOf(m.Profile)
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.directive {
			continue // no code of a profile's
		}
		f.Heat.From, f.Heat.Share = "profile", heat[place{f.File, f.Line}]
		if p := f.Price; p != nil && !p.Silences() && f.Heat.Share > 0 {
			part := f.Heat.Share * min(1, max(0, p.Difference.Estimate/max(p.Bad, 1e-9)))
			f.Gain = &Gain{part, part * m.PerRequest}
		}
	}
}
