package quiet

import (
	"cmp"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// Noise is what slowed a machine over a time, by its yardsticks.
type Noise struct {
	NS         float64   // from the first timing to the last
	Timings    int       // of the yardsticks
	Share      float64   // of the timings that were quiet
	Stretches  []float64 // how long each disturbance lasted, ns
	SlowerLow  float64   // by how much the yardsticks took longer in these, eight of ten timings
	SlowerHigh float64
	Course     []float64 // share of the timings that were not quiet, over equal parts of the time
}

// A stretch ends when the yardsticks were quiet for that long, in ns.
const quietFor = 10e6

// NoiseOf is that of a record, in that number of parts; false where no yardstick was timed.
func NoiseOf(rec *record.Record, parts int) (n Noise, ok bool) {
	type timing struct {
		at, slower float64
		quiet      bool
	}
	best := BestOf(rec)
	var timings []timing
	begun := 0.0
	for _, p := range rec.Processes {
		for _, line := range p.Batches {
			at := begun + line.AtNS
			for i, ns := range line.NS {
				at += ns
				if slower, calm, known := best.Slower(line, i); known {
					timings = append(timings, timing{at, slower, calm})
				}
			}
		}
		if p.Exit != nil {
			begun += p.Exit.ElapsedNS
		}
	}
	if len(timings) < 2 {
		return n, false
	}
	slices.SortStableFunc(timings, func(a, b timing) int { return cmp.Compare(a.at, b.at) })
	first, last := timings[0].at, timings[len(timings)-1].at
	n.NS, n.Timings = last-first, len(timings)
	slow, counts := make([]float64, parts), make([]float64, parts)
	var slower []float64
	since, until := -1.0, 0.0 // of the stretch that is under way
	for _, l := range timings {
		part := min(parts-1, int((l.at-first)/max(n.NS, 1)*float64(parts)))
		counts[part]++
		if l.quiet {
			n.Share++
			if since >= 0 && l.at-until > quietFor {
				n.Stretches, since = append(n.Stretches, until-since), -1
			}
			continue
		}
		slow[part]++
		slower = append(slower, l.slower)
		if since < 0 {
			since = l.at
		}
		until = l.at
	}
	if since >= 0 {
		n.Stretches = append(n.Stretches, until-since)
	}
	n.Share /= float64(len(timings))
	if len(slower) > 0 {
		n.SlowerLow, n.SlowerHigh = estimate.Quantile(slower, 0.10), estimate.Quantile(slower, 0.90)
	}
	for i, timings := range slow {
		n.Course = append(n.Course, timings/max(1, counts[i]))
	}
	return n, true
}
