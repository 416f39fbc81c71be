package stat

import (
	"fmt"

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

// machineWas tells what the yardsticks say of the machine while a case was measured; nil where there were none.
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

// widen makes room in the interval of a figure that the machine disturbed: the case may suffer as much as the yardsticks
// did, or not at all; and where batches were interrupted, as much as its fastest tells.
func widen(d *record.Distribution, q *record.Quiet) {
	if q != nil && q.Disturbed && d.Low > 0 {
		d.Low = max(0, min(d.Low/(1+q.SlowerHigh), d.Min))
	}
}

// leastTold is a share that is not 0 when it is told in whole per cents.
const leastTold = 0.005

// warnDisturbed is about a figure that quiet batches could not carry.
func warnDisturbed(f *facts) *record.Warning {
	q := f.r.Quiet
	if q == nil || !q.Disturbed {
		return nil
	}
	how, when := fmt.Sprintf("slowed this machine by %.0f to %.0f %%", 100*q.SlowerLow, 100*q.SlowerHigh), "all the time"
	if q.SlowerHigh < leastTold {
		how = "kept interrupting what was measured"
	}
	if q.Share >= leastTold {
		when = fmt.Sprintf("for all but %.0f %% of the time", 100*q.Share)
	}
	w := &record.Warning{
		Code:   "disturbed",
		Text:   fmt.Sprintf("something else %s, %s; the interval leaves room for that", how, when),
		Advice: "measure again at another time, or with --wait-quiet 2m; comparisons of interleaved sides stay valid",
	}
	if q.SlowerHigh >= leastTold && q.SlowerHigh-q.SlowerLow <= evenly && q.Share == 0 {
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
	return &record.Warning{
		Code:   "levels",
		Text:   "the processes lie on levels that nothing but time sets apart, as when the machine is slower for a while: " + levels(f.levels),
		Advice: fmt.Sprintf("measure again; if --replay %.0f is on its level again, that is the code's", f.levels[len(f.levels)-1].Seed),
	}
}
