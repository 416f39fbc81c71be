package stat

import (
	"math"

	"github.com/moonlap/moonlap/internal/record"
)

// A Batch is what the search for the steady state knows of a batch.
type Batch struct {
	NS       float64 // per call, the empty twin not taken off
	Warmup   bool    // of the harness's warm-up; the others are measured
	Traced   bool    // a trace event fell inside
	Polluted bool    // a context switch or steal fell inside
}

// Clean tells whether nothing but the case ran in the batch.
func (b Batch) Clean() bool { return !b.Traced && !b.Polluted }

// Steadiness is how a process came to its steady state.
type Steadiness struct {
	Class string // record.SteadyFlat, …
	// From is the index of the first batch that counts. With the class none it is
	// where the last level begins, for those who want to look at it.
	From int
	// Excursions are ranges [from, to) behind From that do not count: short stretches
	// slower than the steady level, which came and went, as interference does.
	Excursions [][2]int
	// TooFew says that there were too few batches to look for a change.
	TooFew bool
}

// Counts tells whether batch i belongs to the steady state.
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
	levelTolerance = 0.02
	// Interference may take this share of the measured batches before it is no
	// longer excused; at the very end, where no return is seen, less.
	excusedShare    = 0.15
	excusedEndShare = 0.05
	// A change in the last third of the measured batches leaves too little behind it.
	latestSteady = 2.0 / 3
	// The changepoint search sees at most this many points, each of which stands for
	// a block of batches; see blockFloors.
	steadyPoints = 400
	leastSegment = 5  // points
	leastBatches = 20 // fewer can't show a change
)

// FindSteady finds from which batch on a process is steady, and classifies how it
// got there, after Barrett et al. (OOPSLA 2017): changepoints cut the sequence into
// segments; those at the last one's level count as steady.
//
// Theirs compares means, after the removal of outliers, on machines made quiet with
// great care. Here the machine may be busy, and what disturbs a batch only ever adds
// time. So a segment's level is its 10 % quantile, which a disturbance leaves alone
// unless it touches nearly every batch; the band of equality is the larger of 2 % and
// the spread of the steady segment's lower part; and a short slower stretch that
// goes back to the level is an excursion, not a change. Drift and levels that
// alternate too fast for changepoints are looked for separately.
func FindSteady(batches []Batch) Steadiness {
	at := usable(batches)
	if len(at) < leastBatches {
		return Steadiness{Class: record.SteadyFlat, TooFew: true}
	}
	ys := logarithms(batches, at)
	segments := segmentsOf(ys)
	measured := firstMeasured(batches, at)
	span := float64(len(ys) - measured)

	var s Steadiness
	last := len(segments) - 1
	if last > 0 && segments[last].slowerThan(segments[last-1]) &&
		float64(segments[last].size()) <= excusedEndShare*span {
		// The run ended inside a disturbance.
		s.Excursions = append(s.Excursions, [2]int{at[segments[last].from], len(batches)})
		last--
	}
	steady := segments[last]
	first, passed := walkBack(segments, last, int(excusedShare*span))
	for _, p := range passed {
		s.Excursions = append(s.Excursions, [2]int{at[p.from], at[p.to]})
	}
	from, to := segments[first].from, steady.to
	if from > 0 {
		s.From = at[from]
	} else {
		s.From = leadingTraces(batches, steady)
	}

	switch {
	case float64(from-measured) > latestSteady*span,
		drifts(ys[from:to]),
		alternates(at[from:to], ys[from:to]):
		s.Class = record.SteadyNone
	case s.From == 0:
		s.Class = record.SteadyFlat
	case anyFaster(segments[:first], steady):
		s.Class = record.SteadySlowdown
	default:
		s.Class = record.SteadyWarmup
	}
	return s
}

// walkBack goes from the steady segment towards the start as long as the segments
// are at its level. It passes over slower ones while they fit into the allowance, a
// number of batches, and the level is found again before them.
func walkBack(segments []segment, last, allowance int) (first int, passed []segment) {
	first = last
	var pending []segment
	for i := last - 1; i >= 0; i-- {
		s := segments[i]
		switch {
		case s.sameLevel(segments[last]):
			first = i
			passed = append(passed, pending...)
			pending = nil
		case s.slowerThan(segments[last]) && s.size() <= allowance:
			allowance -= s.size()
			pending = append(pending, s)
		default:
			return first, passed
		}
	}
	return first, passed
}

// usable returns the indices of the batches to judge by: the clean ones; where they
// are too few, all that saw no trace event; where even these are, all.
func usable(batches []Batch) []int {
	var clean, untraced, all []int
	for i, b := range batches {
		if b.Clean() {
			clean = append(clean, i)
		}
		if !b.Traced {
			untraced = append(untraced, i)
		}
		all = append(all, i)
	}
	enough := max(leastBatches, len(batches)/5)
	switch {
	case len(clean) >= enough:
		return clean
	case len(untraced) >= enough:
		return untraced
	}
	return all
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

// firstMeasured returns which of the usable batches is the first measured one.
func firstMeasured(batches []Batch, at []int) int {
	for k, i := range at {
		if !batches[i].Warmup {
			return k
		}
	}
	return 0 // a process that ended in its warm-up is judged by that
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
	for _, s := range segments {
		if steady.slowerThan(s) {
			return true
		}
	}
	return false
}
