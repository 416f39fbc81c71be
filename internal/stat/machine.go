package stat

import (
	"fmt"
	"math"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// leastQuiet processes carry a figure: with fewer, a comparison has no interval.
const leastQuiet = 4

// quietOf are the units that had quiet moments. Where too few of them were steady, enough is false and all are given back.
func quietOf(units []unit) (carrying []unit, enough bool) {
	steady, quietAndSteady := 0, 0
	for _, u := range units {
		calm, settled := !u.vms[0].own.Machine.Disturbed, u.class() != record.SteadyNone
		if calm {
			carrying = append(carrying, u)
		}
		if settled {
			steady++
		}
		if calm && settled {
			quietAndSteady++
		}
	}
	if len(carrying) == len(units) || quietAndSteady >= leastQuiet || 0 < steady && quietAndSteady == steady {
		return carrying, true
	}
	return units, false
}

// machineWas is what the yardsticks say of the machine while a case was measured; nil where there were none.
func machineWas(units []unit, enough bool) *record.Quiet {
	quietOnes, clean, known := 0, 0, false
	var slower, locations []float64
	for _, u := range units {
		m := u.vms[0].own.Machine
		if !m.Known {
			continue
		}
		known = true
		quietOnes, clean = quietOnes+m.Quiet, clean+m.Clean
		slower = append(slower, m.Slower...)
		if u.class() != record.SteadyNone && m.Clean > 0 {
			locations = append(locations, m.NS)
		}
	}
	if !known {
		return nil
	}
	q := &record.Quiet{Share: float64(quietOnes) / float64(max(1, clean)), Disturbed: !enough}
	if len(locations) > 0 {
		q.AllNS = estimate.Median(locations)
	}
	if len(slower) > 0 {
		q.SlowerLow, q.SlowerHigh = estimate.Quantile(slower, 0.10), estimate.Quantile(slower, 0.90)
	}
	return q
}

// betweenRuns is the share of a figure by which runs differ whose batches were all quiet. No run sees it in itself. Of 51 runs it
// brings those whose interval holds the figure of all from 88 to 92 % (benchmarks/truth/quiet).
const betweenRuns = 0.003

// fewWiden is by how much the range of N values is widened to hold their mean in 95 %: Student's interval to the expected
// half range.
var fewWiden = map[int]float64{2: 15.9, 3: 2.93, 4: 1.55, 5: 1.07}

// widen makes room in the interval of a figure of n processes for what yardsticks show and don't show. Where they left processes
// out, the range of few is no interval. Where the machine was disturbed, the case may suffer as much as the yardsticks
// did, or not at all; and where batches were interrupted, as much as its fastest shows.
func widen(d *record.Distribution, q *record.Quiet, n int, leftOut bool) {
	if q == nil {
		return
	}
	factor := 1.0
	if few := fewWiden[n]; leftOut && few > 0 {
		factor = few
	}
	room := betweenRuns * d.Estimate
	d.Low = d.Estimate - math.Hypot(factor*(d.Estimate-d.Low), room)
	d.High = d.Estimate + math.Hypot(factor*(d.High-d.Estimate), room)
	if q.Disturbed && d.Low > 0 {
		d.Low = max(0, min(d.Low/(1+q.SlowerHigh), d.Min))
	}
}

const (
	leastSeries = 3    // of a process, whose range says something
	farApart    = 1.25 // ratio of the slowest series of a process to its fastest
)

// seriesRange is where nearly all series of the processes lie, where those of most processes differ by a quarter or more though
// no yardstick shows why; false where they do not. A cache that is shared with other guests does that: it is now the case's, now theirs.
func seriesRange(units []unit) (low, high float64, differ bool) {
	var all, ratios []float64
	for _, u := range units {
		series := u.vms[0].own.Series
		if len(u.vms) > 1 || len(series) < leastSeries || slices.Min(series) <= 0 {
			continue
		}
		all = append(all, series...)
		ratios = append(ratios, slices.Max(series)/slices.Min(series))
	}
	if len(ratios) == 0 || estimate.Median(ratios) < farApart {
		return 0, 0, false
	}
	return estimate.Quantile(all, 0.05), estimate.Quantile(all, 0.95), true
}

// widenToSeries makes room in the interval of a figure for what its series differ by.
func (f *facts) widenToSeries() {
	units := inMode(f.steady, 0)
	low, high, differ := seriesRange(units)
	if d := f.r.NSPerCall; differ && f.r.Quiet != nil {
		d.Low, d.High = min(d.Low, low), max(d.High, high)
		f.series = record.Interval{Low: low, High: high}
	}
}

// warnSeries is about a case that is slower and faster within one process, without a yardstick that shows why.
func warnSeries(f *facts) *record.Warning {
	if f.series.High == 0 {
		return nil
	}
	return warn("series_differ",
		fmt.Sprintf("within one process the case takes %s to %s a call, and no yardstick shows when: as where it lives in a cache that "+
			"other guests of the host use, too; the interval is of that range", figure(f.series.Low), figure(f.series.High)),
		"compare interleaved sides; a figure of one run is true of its time alone")
}

// leastShown is the smallest share that is not 0 in whole per cents.
const leastShown = 0.005

// warnDisturbed is about a figure that quiet batches could not carry.
func warnDisturbed(f *facts) *record.Warning {
	q := f.r.Quiet
	if q == nil || !q.Disturbed {
		return nil
	}
	how, when := fmt.Sprintf("slowed this machine by %.0f to %.0f %%", 100*q.SlowerLow, 100*q.SlowerHigh), "all the time"
	if q.SlowerHigh < leastShown {
		how = "kept interrupting what was measured"
	}
	if q.Share >= leastShown {
		when = fmt.Sprintf("for all but %.0f %% of the time", 100*q.Share)
	}
	w := warn("disturbed",
		fmt.Sprintf("something else %s, %s; the interval leaves room for that", how, when),
		"measure again at another time, or with --wait-quiet 2m; comparisons of interleaved sides stay valid")
	if q.SlowerHigh >= leastShown && q.SlowerHigh-q.SlowerLow <= evenly && q.Share == 0 {
		w.Text = fmt.Sprintf("this machine was evenly %.0f %% slower than the best ever seen of it, all the time; the interval leaves room for that",
			100*q.SlowerHigh)
		w.Advice = "where it runs at another speed for good, or that best was measured wrong, remove yardsticks-*.json from moonlap's cache folder; " +
			"after 14 days it is forgotten"
	}
	return w
}

// evenly slowed is a machine whose yardsticks hardly differ: neighbours come and go.
const evenly = 0.02

// warnLevels is about levels of processes that are no modes.
func warnLevels(f *facts) *record.Warning {
	if len(f.levels) == 0 {
		return nil
	}
	return warn("levels",
		"the processes lie on levels that nothing but time sets apart, as when the machine is slower for a while: "+levels(f.levels),
		fmt.Sprintf("measure again; if --replay %.0f is on its level again, that is the code's", f.levels[len(f.levels)-1].Seed))
}
