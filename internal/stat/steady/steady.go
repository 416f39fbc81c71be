// Package steady separates the warm-up of a process from its steady state.
package steady

import (
	"math"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/quiet"
)

// A Batch is what the search for the steady state knows of a batch.
type Batch struct {
	AtNS     float64 // its start, since the process's first line
	NS       float64 // per call, the empty twin not taken off
	Calls    float64 // in it; 0 where that is not known, which is one
	Warmup   bool    // of the harness's warm-up; the others are measured
	Series   int     // of the measured batches: a full collection comes before each
	Traced   bool    // a trace event fell inside
	Polluted bool    // a context switch or steal fell inside
	// What the yardsticks beside it show, where they were timed: whether something slowed the machine, and by how much
	// they took longer than their best.
	Timed, Disturbed bool
	Slower           float64
}

// Took is how long a batch was, in ns.
func (b Batch) Took() float64 { return b.NS * max(1, b.Calls) }

// TookOf is how long some batches were together, in ns.
func TookOf(batches []Batch, at []int) (ns float64) {
	for _, i := range at {
		ns += batches[i].Took()
	}
	return ns
}

// Quiet reports whether nothing but the case ran in the batch, and nothing slowed the machine by its yardsticks.
func (b Batch) Quiet() bool { return b.Timed && !b.Disturbed && b.Clean() }

// Clean reports whether nothing but the case ran in the batch.
func (b Batch) Clean() bool { return !b.Traced && !b.Polluted }

// Steadiness is how a process came to its steady state.
type Steadiness struct {
	Class string // record.SteadyFlat, …
	// From is the index of the first batch that counts. With the class none it is
	// where the last level begins, for those who want to look at it.
	From int
	// Excursions are ranges [from, to) behind From that do not count: what was slower
	// than the steady level and went back to it, as interference does, and how a series
	// began before it had its level again.
	Excursions [][2]int
	// TooFew says that there were too few batches to look for a change.
	TooFew bool
}

// Counts reports whether batch i belongs to the steady state.
func (s Steadiness) Counts(i int) bool {
	for _, e := range s.Excursions {
		if i >= e[0] && i < e[1] {
			return false
		}
	}
	return i >= s.From
}

const (
	// Levels closer than this (logarithmic, so nearly relative) are the same level.
	levelTolerance = 0.03
	// Interference may take this share of the measured batches before it is no
	// longer excused; at the very end, where no return is seen, less.
	excusedShare    = 0.25
	excusedEndShare = 0.08
	// A change in the last third of the measured batches leaves too little behind it.
	latestSteady = 2.0 / 3
	LeastBatches = 20 // fewer can't show a change
)

// FindSteady finds from which batch on a process is steady, and classifies how it
// got there, after Barrett et al. (OOPSLA 2017): changepoints cut the sequence into
// segments; those at the last one's level count as steady.
//
// Theirs compares means, after the removal of outliers, on machines made quiet with
// great care. Here the machine may be busy, and what disturbs a batch only ever adds
// time. So a segment's level is its 10 % quantile, which a disturbance leaves alone
// unless it touches nearly every batch; the band of equality is the larger of 3 % and
// the spread of the steady segment's lower part; and a slower stretch that goes back
// to the level is an excursion, not a change, as long as all of them are short.
//
// A full collection between two series deals memory out anew, and a case's time may
// hang on where its objects lie; a small heap also collects more often until it has
// grown again. So a change of level between series, or where one begins, is no change of
// course, unless the series follow a trend or a large step divides them.
func FindSteady(batches []Batch) Steadiness {
	at := usable(batches)
	if len(at) < LeastBatches {
		return Steadiness{Class: record.SteadyFlat, TooFew: true}
	}
	ys := logarithms(batches, at)
	f := &finding{at: at}
	for _, s := range stretchesOf(batches, at, ys) {
		if batches[at[s.from()]].Warmup {
			f.warmup = append(f.warmup, s)
		} else {
			f.series = append(f.series, s)
		}
	}
	if len(f.series) == 0 { // a process that ended in its warm-up is judged by that
		f.warmup, f.series = nil, f.warmup
	}
	measured := f.series[0].from()
	span := float64(len(ys) - measured)
	f.allowance = int(excusedShare * span)
	f.settle(int(excusedEndShare * span))
	from, level, before := f.begin()
	for _, t := range f.series {
		for _, p := range t.passed {
			if p.from >= from {
				f.excuse(p.from, p.to)
			}
		}
	}

	s := Steadiness{From: at[from], Excursions: f.excursions}
	if from == 0 {
		s.From = leadingTraces(batches, level)
	}
	switch {
	case float64(from-measured) > latestSteady*span, trend(f.series, ys), alternates(f.series, at, ys):
		s.Class = record.SteadyNone
	case s.From == 0:
		s.Class = record.SteadyFlat
	case anyFaster(before, level):
		s.Class = record.SteadySlowdown
	default:
		s.Class = record.SteadyWarmup
	}
	return s
}

// A finding is how far [FindSteady] has come.
type finding struct {
	at             []int // the batch of each value
	warmup, series []stretch
	allowance      int // values that may still be excused
	excursions     [][2]int
}

// excuse takes values for disturbed.
func (f *finding) excuse(from, to int) {
	f.excursions = append(f.excursions, [2]int{f.at[from], f.at[to-1] + 1})
}

// settle finds the level of each series, the last first; atEnd values may be excused at its end.
func (f *finding) settle(atEnd int) {
	for i := len(f.series) - 1; i >= 0; i-- {
		var next *stretch
		if i+1 < len(f.series) {
			next = &f.series[i+1]
		}
		if end := f.series[i].settle(next, &f.allowance, atEnd); end != nil {
			f.excuse(end.from, end.to)
		}
	}
}

// begin finds the first value of the steady state, its level, and everything that lies before it.
func (f *finding) begin() (from int, level segment, before []segment) {
	series := f.series
	level = commonLevel(series)
	measured := series[0].from()
	from = measured
	for i, t := range series {
		start, _ := t.tail()
		switch {
		case i > 0 && stepsBefore(series, i):
			before = append(before, joined(series[:i])...)
			from = t.from()
			level = commonLevel(series[i:])
		case t.first == 0:
		case len(series) > 1 && t.startsAnew(series[max(i-1, 0)]):
			f.excuse(t.from(), start)
		default: // a change inside
			before = append(before, t.segments[:t.first]...)
			from = start
		}
	}
	if from > measured || len(f.warmup) == 0 {
		return from, level, before
	}
	w := joined(f.warmup)
	first, passed := walkBack(w, level, &f.allowance)
	for _, p := range passed {
		f.excuse(p.from, p.to)
	}
	if first < len(w) {
		from = w[first].from
	}
	return from, level, w[:first]
}

// usable returns the indices of the batches to judge by: the quiet ones; where they are too few,
// the clean ones, or all but the polluted. What is left of a process that was disturbed all the
// time may be too little to judge by, and then says nothing against the case.
func usable(batches []Batch) []int {
	var calm, clean, undisturbed []int
	for i, b := range batches {
		if b.Polluted {
			continue
		}
		undisturbed = append(undisturbed, i)
		if b.Clean() {
			clean = append(clean, i)
		}
		if b.Quiet() {
			calm = append(calm, i)
		}
	}
	switch {
	case quiet.Enough(TookOf(batches, calm), TookOf(batches, undisturbed)):
		return calm
	case len(clean) >= max(LeastBatches, len(undisturbed)/5):
		return clean
	}
	return undisturbed
}

// logarithms of the batches' times, so that levels differ by ratios. A time at or
// below zero, which only a broken clock gives, becomes the smallest above it.
func logarithms(batches []Batch, at []int) []float64 {
	smallest := math.Inf(1)
	for _, i := range at {
		if ns := batches[i].NS; ns > 0 {
			smallest = min(smallest, ns)
		}
	}
	ys := make([]float64, len(at))
	if math.IsInf(smallest, 1) {
		return ys
	}
	for k, i := range at {
		ys[k] = math.Log(max(batches[i].NS, smallest))
	}
	return ys
}

// leadingTraces counts the batches at the very start that were slow while traces
// were recorded: a warm-up too short for a segment of its own.
func leadingTraces(batches []Batch, steady segment) int {
	n := 0
	for n < len(batches) && batches[n].Traced && math.Log(batches[n].NS) > steady.high+steady.band() {
		n++
	}
	return n
}

func anyFaster(segments []segment, steady segment) bool {
	return slices.ContainsFunc(segments, func(s segment) bool { return steady.slowerThan(s) })
}

// Measures reports whether batch i is of the state that the process is judged by: a process
// that is never steady still shows what it measured, all of it.
func (s Steadiness) Measures(i int) bool { return s.Class == record.SteadyNone || s.Counts(i) }
