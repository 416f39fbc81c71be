package lint

import (
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
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

// A hot stack is one whose innermost Lua of the files that were linted is known.
type hot struct {
	place
	lines int            // how many may be the one
	share float64        // of the profile's time
	calls *profile.Frame // what it calls elsewhere: C, or a library as resty.core; nil where it calls nothing
}

// hotIn are the stacks of a profile, by the innermost line of the files that were linted.
func (r *Report) hotIn(p *profile.Profile) (list []hot) {
	total := float64(p.Total())
	sources := map[string]string{}
	for _, s := range p.Stacks {
		var calls *profile.Frame
		for i := len(s.Frames) - 1; i >= 0; i-- {
			f := &s.Frames[i]
			if f.Kind == profile.Lua && f.Line > 0 {
				at := place{f.File, f.Line}.inConf()
				file, known := sources[at.file]
				if !known {
					file, _ = r.sourceOf(at.file)
					sources[at.file] = file
				}
				if file != "" {
					list = append(list, hot{place{file, at.line}, max(1, f.LastLine-f.Line+1), float64(s.Count) / total, calls})
					break
				}
			}
			calls = f
		}
	}
	return list
}

// heatOf is what part of a profile's time lies in each line, with what it calls elsewhere.
func heatOf(stacks []hot) map[place]float64 {
	heat := map[place]float64{}
	for _, s := range stacks {
		for i := range s.lines {
			heat[place{s.file, s.line + i}] += s.share / float64(s.lines)
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

// A Gain is an estimate of what a change spares: of the line's time the part that the bad side of the rule's pair takes more. Low and High
// are how far it may be off, as the samples are few and the runs of the pair differ. What the line does beside the pair, and what else a change spares, is not in them.
type Gain struct {
	Share float64 `json:"share"` // of all CPU time in the profile
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	NS    float64 `json:"ns_per_request,omitempty"` // 0: how many requests there were is not known
}

// gainOf is what there is to gain where a line has such a share of n samples.
func gainOf(of tail, n int, p *Price, perRequest float64) *Gain {
	part := func(difference float64) float64 { return min(1, max(0, difference/max(p.Bad, 1e-9))) }
	seen := func(share float64) record.Interval {
		return estimate.Share(min(n, int(math.Round(share*float64(n)))), n)
	}
	g := Gain{Share: of.share * part(p.Difference.Estimate)}
	g.Low = min(g.Share, seen(of.least).Low*part(slices.Min(append([]float64{p.Difference.Low}, p.Runs...))))
	g.High = max(g.Share, seen(of.most).High*part(slices.Max(append([]float64{p.Difference.High}, p.Runs...))))
	g.NS = g.Share * perRequest
	return &g
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
	stacks := r.hotIn(m.Profile)
	heat := heatOf(stacks)
	tails := r.tails(stacks)
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.directive {
			continue // no code of a profile's
		}
		own, of := heat[place{f.File, f.Line}], tails[i]
		of = tail{own + of.share, own + of.least, own + of.most}
		if f.Heat.sometimes {
			of.least = 0
		}
		f.Heat.From, f.Heat.Share = "profile", of.share
		if p := f.Price; p != nil && !p.Silences() && f.Heat.Share > 0 {
			f.Gain = gainOf(of, int(m.Profile.Total()), p, m.PerRequest)
		}
	}
}
