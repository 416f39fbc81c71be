package stat

import (
	"cmp"
	"math"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/quiet"
	"github.com/moonlap/moonlap/internal/stat/steady"
)

// A Process is one VM's own figure: a process, or one worker of it. Times are ns per
// call.
type Process struct {
	NS      float64 // location: median of the batches that count, less the empty twin
	PM      float64 // ± of NS within the process: of its batches and of the twin
	MinNS   float64 // fastest batch that counts, less the empty twin
	FloorNS float64 // their 10 % quantile, less the empty twin: what a busy machine leaves alone
	EmptyNS float64 // the empty twin's location
	HasTwin bool
	GCShare float64 // share of the time spent in the collector; NaN when not measured

	Steadiness steady.Steadiness
	Batches    record.BatchTally
	Samples    []float64 // the batches that count, less the empty twin, in order of time
	Series     []float64 // the median of each series of them, less the empty twin
	// Polluted says that hardly any batch was clean, so that polluted ones count too.
	Polluted bool
	Machine  Machine
}

// Machine is what the yardsticks tell of the machine while a process measured.
type Machine struct {
	Known     bool
	Disturbed bool      // too few batches were quiet, so that others count too
	Quiet     int       // clean batches in quiet moments
	Clean     int       // all clean batches
	Slower    []float64 // by how much the yardsticks took longer than their best, beside the others of them
	NS        float64   // the location over all clean batches, disturbed ones too, less the empty twin
}

// Figure reports whether the process measured anything that counts.
func (p Process) Figure() bool { return len(p.Samples) > 0 }

// leastClean is the share of the steady batches that must be clean for the others to
// be left out.
const leastClean = 0.1

// locate makes a process's own figure from its batches. Those in quiet moments carry it where there are enough, as
// the best that is known of the yardsticks tells; with none known all moments are alike.
func locate(p *record.ProcessRecord, best quiet.Best) Process {
	sequence := batchesOf(p, best, record.Warmup, record.Measure)
	l := Process{Steadiness: steady.FindSteady(sequence), GCShare: math.NaN()}

	for i, b := range sequence {
		if !b.Warmup {
			l.Batches.Measured++
			if !l.Steadiness.Measures(i) {
				l.Batches.Unsteady++
			}
		}
	}
	l.count(p)

	counts, polluted := counting(sequence, l.Steadiness)
	l.Polluted = polluted
	var samples []float64
	for i, b := range sequence {
		if counts[i] {
			samples = append(samples, b.NS)
		}
	}
	twin := twinOf(p, best)
	l.HasTwin = twin.Estimate > 0
	l.EmptyNS = twin.Estimate
	if len(samples) == 0 {
		return l
	}
	gross, _ := estimate.MedianInterval(samples, estimate.Level)
	l.NS = gross.Estimate - twin.Estimate
	l.Series = seriesOf(sequence, counts)
	l.PM = math.Hypot(max(halfWidth(gross), betweenSeries(l.Series)), halfWidth(twin))
	l.MinNS = slices.Min(samples) - twin.Estimate
	l.FloorNS = estimate.Quantile(samples, 0.10) - twin.Estimate
	l.Samples = make([]float64, len(samples))
	for i, ns := range samples {
		l.Samples[i] = ns - twin.Estimate
	}
	for i := range l.Series {
		l.Series[i] -= twin.Estimate
	}
	l.Machine = machineOf(sequence, l.Steadiness, counts)
	l.Machine.NS -= twin.Estimate
	if stopped := quietTimes(batchesOf(p, best, record.GCStopped)); len(stopped) > 0 && l.NS > 0 {
		l.GCShare = (gross.Estimate - estimate.Median(stopped)) / l.NS
	}
	return l
}

// seriesOf are the medians of a process's series.
func seriesOf(sequence []steady.Batch, counts []bool) (medians []float64) {
	bySeries := map[int][]float64{}
	for i, b := range sequence {
		if counts[i] && b.Clean() {
			bySeries[b.Series] = append(bySeries[b.Series], b.NS)
		}
	}
	for _, ns := range bySeries {
		medians = append(medians, estimate.Median(ns))
	}
	return medians
}

// betweenSeries is ± of a process's location from what its series differ by: twice the
// standard error over their medians. Batches of one series are not independent, as they
// share where memory was dealt out.
func betweenSeries(medians []float64) float64 {
	if len(medians) < 2 {
		return 0
	}
	return 2 * estimate.Deviation(medians) / math.Sqrt(float64(len(medians)))
}

// count tallies what was inside the measured batches.
func (l *Process) count(p *record.ProcessRecord) {
	positive := func(marks []int) (n int) {
		for _, m := range marks {
			if m > 0 {
				n++
			}
		}
		return n
	}
	for _, b := range p.Batches {
		if b.Kind == record.Measure {
			l.Batches.Traced += positive(b.Traces)
			l.Batches.Switched += positive(b.Switches)
			l.Batches.Stolen += positive(b.Steal)
		}
	}
}

// machineOf tells what the yardsticks say of the batches that may count, of which some do.
func machineOf(sequence []steady.Batch, state steady.Steadiness, counts []bool) Machine {
	var m Machine
	var all []float64
	for i, b := range sequence {
		if b.Warmup || !state.Measures(i) {
			continue
		}
		m.Known = m.Known || b.Timed
		m.Disturbed = m.Disturbed || counts[i] && b.Timed && !b.Quiet()
		if !b.Clean() {
			continue
		}
		all = append(all, b.NS)
		switch {
		case b.Quiet():
			m.Quiet++
		case b.Disturbed:
			m.Slower = append(m.Slower, b.Slower)
		}
	}
	if m.Clean = len(all); m.Clean > 0 {
		m.NS = estimate.Median(all)
	}
	return m
}

// twinOf is the empty twin's location in ns per turn, 0 ± 0 where none was measured.
func twinOf(p *record.ProcessRecord, best quiet.Best) record.Interval {
	times := quietTimes(batchesOf(p, best, record.Empty))
	if len(times) == 0 {
		return record.Interval{}
	}
	twin, _ := estimate.MedianInterval(times, estimate.Level)
	return twin
}

// quietTimes are the times of the quiet batches; where too few are, of the clean ones, or of all.
func quietTimes(batches []steady.Batch) []float64 {
	var quietOnes, clean, all []float64
	var quietTook, took float64
	for _, b := range batches {
		all = append(all, b.NS)
		took += b.Took()
		if b.Clean() {
			clean = append(clean, b.NS)
		}
		if b.Quiet() {
			quietOnes = append(quietOnes, b.NS)
			quietTook += b.Took()
		}
	}
	switch {
	case quiet.Enough(quietTook, took):
		return quietOnes
	case len(clean) > 0:
		return clean
	}
	return all
}

// batchesOf returns a process's batches of these kinds, in order of time. A batch
// without calls or with a time that is no positive number says nothing and is left out.
func batchesOf(p *record.ProcessRecord, best quiet.Best, kinds ...string) []steady.Batch {
	lines := slices.Clone(p.Batches)
	slices.SortStableFunc(lines, func(a, b record.Batches) int { return cmp.Compare(a.AtNS, b.AtNS) })
	marked := func(marks []int, i int) bool { return i < len(marks) && marks[i] > 0 }
	var batches []steady.Batch
	for _, l := range lines {
		if !slices.Contains(kinds, l.Kind) {
			continue
		}
		at := l.AtNS
		for i, ns := range l.NS {
			began := at
			if ns > 0 && !math.IsInf(ns, 1) {
				at += ns
			}
			if i >= len(l.Calls) || l.Calls[i] <= 0 || !(ns > 0) || math.IsInf(ns, 1) {
				continue
			}
			slower, calm, timed := best.Slower(l, i)
			batches = append(batches, steady.Batch{
				AtNS:      began,
				NS:        ns / float64(l.Calls[i]),
				Calls:     float64(l.Calls[i]),
				Warmup:    l.Kind == record.Warmup,
				Series:    l.Series,
				Traced:    marked(l.Traces, i),
				Polluted:  marked(l.Switches, i) || marked(l.Steal, i),
				Timed:     timed,
				Disturbed: timed && !calm,
				Slower:    slower,
			})
		}
	}
	return batches
}

func halfWidth(iv record.Interval) float64 { return (iv.High - iv.Low) / 2 }
