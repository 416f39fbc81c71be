package stat

import (
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/quiet"
	"github.com/moonlap/moonlap/internal/stat/steady"
)

// A Moment is one batch in the course of a process.
type Moment struct {
	steady.Batch
	NetNS  float64 // per call, less the empty twin
	Counts bool    // it is among the batches that make the process's figure
}

// Courses gives the batches of a process of the record in order of time, the warm-up's too, with
// what [Summarize] makes of each.
func Courses(rec *record.Record) func(*record.ProcessRecord) []Moment {
	best := quiet.BestOf(rec)
	return func(p *record.ProcessRecord) []Moment {
		sequence := batchesOf(p, best, record.Warmup, record.Measure)
		counts, _ := counting(sequence, steady.FindSteady(sequence))
		twin := twinOf(p, best).Estimate
		moments := make([]Moment, len(sequence))
		for i, b := range sequence {
			moments[i] = Moment{Batch: b, NetNS: b.NS - twin, Counts: counts[i]}
		}
		return moments
	}
}

// counting tells which batches make the figure: the quiet ones of the steady state, or, where they
// are too few, all clean ones. Where hardly any is clean the process is polluted, and those count
// too that no trace fell into, or all.
func counting(sequence []steady.Batch, state steady.Steadiness) (counts []bool, polluted bool) {
	var all, calm, clean, untraced []int
	for i, b := range sequence {
		if b.Warmup || !state.Measures(i) {
			continue
		}
		all = append(all, i)
		if b.Quiet() {
			calm = append(calm, i)
		}
		if b.Clean() {
			clean = append(clean, i)
		}
		if !b.Traced {
			untraced = append(untraced, i)
		}
	}
	chosen := clean
	switch {
	case quiet.Enough(steady.TookOf(sequence, calm), steady.TookOf(sequence, all)):
		chosen = calm
	case len(clean) == 0 || float64(len(clean)) < leastClean*float64(len(all)):
		polluted = len(all) > 0
		chosen = untraced
		if len(untraced) == 0 {
			chosen = all
		}
	}
	counts = make([]bool, len(sequence))
	for _, i := range chosen {
		counts[i] = true
	}
	return counts, polluted
}
