// Package lint has rules look at Lua and nginx.conf: it finds the files, feeds them to the engine in LuaJIT (lua/moonlap/lint),
// and puts what comes back in order.
package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
)

// A Finding is a place where a rule applies.
type Finding struct {
	Rule    string `json:"rule"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"` // in bytes, from 1
	Message string `json:"message"`
	Level   string `json:"level"` // Error, Warning or Note
	Class   string `json:"class"` // when the code runs: request, timer, init, cli, test
	Heat    Heat   `json:"heat"`
	// PriceNS is what a call costs more than with what the rule advises.
	PriceNS *record.Interval `json:"price_ns,omitempty"`
	Price   *Price           `json:"price,omitempty"`
	Gain    *Gain            `json:"gain,omitempty"`
	Fix     Fix              `json:"fix,omitempty"`
	text    string           // the line, for the baseline
	// directive reports that it is of nginx.conf itself, not of Lua in it.
	directive bool
}

// Levels of findings.
const (
	Error   = "error"   // the code throws where it is reached
	Warning = "warning" // it costs more than it must, or does the wrong thing
	Note    = "note"    // it does no harm today
)

// Failing reports whether there is a finding that is more than a note.
func (r *Report) Failing() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level != Note })
}

// Heat says how hot the line of a finding is.
type Heat struct {
	From  string  `json:"from"`            // "profile", or "guess": from loops and class
	Share float64 `json:"share,omitempty"` // of the CPU time in the profile
	Loops int     `json:"loops"`           // around it, in its function
	Cold  bool    `json:"cold,omitempty"`  // in a branch that reports a failure
	// Tail is what a tail call calls; "" for others. A profile has its time at the line that called the function around it.
	Tail string `json:"tail_call,omitempty"`
	// Alike is how many other tail calls the time may as well be of.
	Alike    int    `json:"alike,omitempty"`
	function string // the name of the function around it; "" where it has none
	// sometimes is set where only some calls have something to gain: nobody knows how many.
	sometimes bool
	// Interpreted is the part of the CPU time in which Lua was interpreted because of this line.
	Interpreted float64 `json:"interpreted,omitempty"`
}

// A Fix is edits that keep the meaning, all of them together.
type Fix []Edit

// An Edit is text that may take the place of some bytes of the file.
type Edit struct {
	From int    `json:"from"` // first byte, from 1
	To   int    `json:"to"`   // last byte; below From where the text is put in before it
	Text string `json:"text"`
}

// A Fault is why a file, or a rule, was not read or run.
type Fault struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
}

func (f Fault) Error() string {
	text := f.Message
	if f.Rule != "" {
		text = fmt.Sprintf("the rule %s failed: %s", f.Rule, text)
	}
	switch {
	case f.File == "":
		return text
	case f.Line == 0:
		return f.File + ": " + text
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, text)
}

// A Report is what a run found.
type Report struct {
	Findings []Finding `json:"findings"`
	Faults   []Fault   `json:"faults"`
	Files    int       `json:"files"` // that were read
	Lines    int       `json:"lines"`
	// Known is how many findings the baseline held.
	Known int `json:"known,omitempty"`
	// Silent are rules that found something and say nothing: their pairs show no difference.
	Silent map[string]int `json:"silent,omitempty"`

	sources []source // that were read
	prices  Prices
	ignored map[ignore]bool // what comments silence
}

// A source is a file that was linted.
type source struct{ file, class string }

// An ignore is a rule that a comment silences at a place; line 0 is the whole file.
type ignore struct {
	place
	rule string
}

// gain is what findings are ranked by: what there is to gain, or was interpreted.
func (h Heat) gain(g *Gain) float64 {
	if g == nil {
		return h.Interpreted
	}
	return max(g.Share, h.Interpreted)
}

// Rank puts findings in order. Errors come first and notes last. Where there is a profile, those with the most to gain come before
// others; the rest is a guess.
func (r *Report) Rank() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(levels[a.Level], levels[b.Level]), cmp.Compare(b.Heat.gain(b.Gain), a.Heat.gain(a.Gain)),
			cmp.Compare(b.Heat.Share, a.Heat.Share), a.guess(b), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule))
	})
}

// levels and classes are in the order of a report.
var (
	levels  = map[string]int{Error: -1, Note: 1}
	classes = map[string]int{Request: 0, Timer: 1, Init: 2, CLI: 3, Test: 4}
)

// guess compares how hot the lines of two findings may be: by when they run, whether they report a failure, and the loops around them.
func (f Finding) guess(other Finding) int {
	cold := func(h Heat) int {
		if h.Cold {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(classes[f.Class], classes[other.Class]), cmp.Compare(cold(f.Heat), cold(other.Heat)),
		cmp.Compare(other.Heat.Loops, f.Heat.Loops))
}
