// Package regexes is evidence of regular expressions, and of patterns of Lua's own: which lines work on them, and what takes the time there.
package regexes

import (
	"cmp"
	"slices"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/sample"
)

// Name is that of the kind.
const Name = "regular_expressions"

// A Result is the samples that work on regular expressions.
type Result struct {
	Of    float64 `json:"of"`    // samples, or ns that all of them mean
	Lines []Line  `json:"lines"` // that with the largest share first
}

// A Line is the samples that work on regular expressions, or on patterns of Lua's own, in one line of Lua. Shares
// are of all samples, or of their time.
type Line struct {
	Line    string  `json:"line"`              // function@file:line, outside of lua-resty-core; "" where nginx matches without Lua
	Pattern string  `json:"pattern,omitempty"` // where the line gives it as a constant, and no other
	Options string  `json:"options,omitempty"` // of ngx.re, likewise
	Share   float64 `json:"share"`

	Compiled    float64 `json:"compiled"`    // the part in machine code of PCRE's
	Interpreted float64 `json:"interpreted"` // in PCRE's interpreter, and on the way to machine code
	Compiling   float64 `json:"compiling"`   // in which patterns were compiled
	Lua         float64 `json:"lua_pattern"` // in string.find, match, gmatch, gsub
	Samples     int     `json:"samples"`
	Advice      string  `json:"advice,omitempty"`
}

func init() {
	evidence.Register(Name, func() evidence.Result { return &Result{} })
	observe.FromSamples(Name, func(all, chosen sample.Series) *Result { return Of(chosen) })
}

// Of is those of samples; nil where none works on regular expressions.
func Of(l sample.Series) *Result {
	all := &Result{Of: max(1, l.Total(l.Samples))}
	for _, s := range l.Samples {
		if s.Regex == nil {
			continue
		}
		share := l.Weight(s) / all.Of
		one := Line{Line: s.Regex.At.Where(), Pattern: s.Regex.Pattern, Options: s.Regex.Options, Share: share, Samples: 1}
		switch s.Regex.Doing {
		case sample.RegexCompiled:
			one.Compiled = share
		case sample.RegexInterpreted:
			one.Interpreted = share
		case sample.RegexCompiling:
			one.Compiling = share
		case sample.RegexLua:
			one.Lua = share
		}
		all.Lines = append(all.Lines, one)
	}
	if len(all.Lines) == 0 {
		return nil
	}
	return all.judged()
}

// judged has each line and pattern once, that with the largest share first, and says what to try.
func (r *Result) judged() *Result {
	r.Lines = evidence.Group(r.Lines, func(l Line) [3]string { return [3]string{l.Line, l.Pattern, l.Options} }, func(to *Line, one Line) {
		to.Share += one.Share
		to.Compiled += one.Compiled
		to.Interpreted += one.Interpreted
		to.Compiling += one.Compiling
		to.Lua += one.Lua
		to.Samples += one.Samples
	})
	for i := range r.Lines {
		r.Lines[i].Advice = r.Lines[i].advice()
	}
	slices.SortStableFunc(r.Lines, func(a, b Line) int { return cmp.Compare(b.Share, a.Share) })
	return r
}

// Merge is both together.
func (r *Result) Merge(other evidence.Result) evidence.Result {
	o := other.(*Result)
	both := &Result{Of: r.Of + o.Of}
	for _, one := range []*Result{r, o} {
		part := one.Of / both.Of
		for _, l := range one.Lines {
			l.Share, l.Compiled, l.Interpreted, l.Compiling, l.Lua = l.Share*part, l.Compiled*part, l.Interpreted*part, l.Compiling*part, l.Lua*part
			both.Lines = append(both.Lines, l)
		}
	}
	return both.judged()
}
