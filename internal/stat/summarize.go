package stat

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/modes"
	"github.com/moonlap/moonlap/internal/stat/quiet"
)

// Summarize turns a record into results: all that can be said of it, with warnings for
// all that can't. It never fails; what is missing in the record is missing in the
// results, and said. Comparisons are made apart: see [CompareTurns].
func Summarize(rec *record.Record) *record.Results {
	res := &record.Results{
		Schema:      record.Schema,
		Kind:        rec.Run.Kind,
		Environment: rec.Run.Environment,
		Runtime:     rec.Runtime,
		Seed:        rec.Run.Seed,
		Cases:       []record.CaseResult{},
		Comparisons: []record.Comparison{},
		Complete:    rec.Complete() && len(rec.Faults) == 0,
	}
	for _, p := range rec.Processes {
		if !slices.ContainsFunc(res.VMs, func(v record.VM) bool { return reflect.DeepEqual(v, p.Process.VM) }) {
			res.VMs = append(res.VMs, p.Process.VM)
		}
		if res.Nginx == nil {
			res.Nginx = p.Process.Nginx
		}
		// The coarsest clock is the one that limits what can be said.
		if res.Clock == nil || p.Process.Clock.StepNS > res.Clock.StepNS {
			res.Clock = &p.Process.Clock
		}
	}
	best := quiet.BestOf(rec)
	if len(best) > 0 {
		res.Yardsticks = best
	}
	for _, c := range rec.Cases {
		r := summarizeCase(rec, c, best)
		res.Cases = append(res.Cases, r)
		if r.Failed > 0 || len(r.Faults) > 0 || r.Processes == 0 {
			res.Complete = false
		}
	}
	res.Warnings = runWarnings(rec, res)
	return res
}

// summarizeCase makes the result of one case of the plan.
func summarizeCase(rec *record.Record, c record.Case, best quiet.Best) record.CaseResult {
	f := factsOf(rec, c, best)
	f.r.Warnings = caseWarnings(f)
	return *f.r
}

// factsOf is all that is known of one case of the plan, its result yet without warnings.
func factsOf(rec *record.Record, c record.Case, best quiet.Best) *facts {
	said := rec.Of(c.Case)
	units, failed := unitsOf(said, func(*record.ProcessRecord) quiet.Best { return best })
	units, again := firstsOf(units)
	r := record.CaseResult{
		Name: c.Name, Params: c.Params, Case: c,
		Failed: failed, Faults: rec.FaultsOf(c.Case), Profile: rec.ProfileOf(c.Case),
		Modes: []record.Mode{}, PerProcess: []record.ProcessResult{},
		SteadyCounts: map[string]int{},
	}
	f := &facts{rec: rec, r: &r, units: units, again: measured(again)}
	for _, u := range units {
		for _, v := range u.vms {
			f.vms = append(f.vms, v)
			r.Batches = addTallies(r.Batches, v.own.Batches)
		}
	}
	timed := measured(units)
	carrying, enough := quietOf(timed)
	f.steady = classify(&r, carrying)
	f.slowed = besides(timed, carrying)
	if len(timed) == 0 {
		f.steady = nil
		r.Processes = len(units)
	} else {
		r.Processes = len(f.steady)
	}
	r.JIT = jitOf(f.ledgers(), f.jitOn() || f.goCode())
	r.BytesPerCall = f.bytesPerCall()
	r.InstructionsPerCall = f.instructionsPerCall()
	if len(f.steady) > 0 && r.Steady != record.SteadyNone {
		f.findModes()
		r.NSPerCall, f.few = distributionOf(f.steady)
		r.Quiet = machineWas(timed, enough)
		widen(r.NSPerCall, r.Quiet, len(inMode(f.steady, 0)), len(f.slowed) > 0)
		f.widenToSeries()
		r.GCShare = gcShareOf(f.steady, r.BytesPerCall)
	}
	r.EmptyNS = emptyOf(timed)
	r.PerProcess = perProcess(timed, f.steady)
	r.Metrics = metricsOf(r.PerProcess)
	r.Laps = f.laps()
	if r.Laps != nil {
		r.Bins = lapBins(r.Laps.Histogram)
	} else {
		r.Bins = estimate.BinsOf(pooled(f.steady))
	}
	return f
}

// classify counts the classes of the processes, gives the case its own, and returns the
// processes that count: those that were steady. Where most never were, the case has no
// steady state; one in eight or so is never steady for the machine's sake, when it is busy.
func classify(r *record.CaseResult, units []unit) (steady []unit) {
	if len(units) == 0 {
		return nil
	}
	for _, u := range units {
		class := u.class()
		r.SteadyCounts[class]++
		if class != record.SteadyNone {
			steady = append(steady, u)
		}
	}
	if 2*r.SteadyCounts[record.SteadyNone] > len(units) {
		r.Steady = record.SteadyNone
		return steady
	}
	r.Steady = slices.MaxFunc([]string{record.SteadyFlat, record.SteadyWarmup, record.SteadySlowdown},
		func(a, b string) int { return cmp.Compare(r.SteadyCounts[a], r.SteadyCounts[b]) })
	return steady
}

// findModes groups the processes that count by their level. Levels that nothing but time sets apart are what a neighbour
// makes of one: they are no modes.
func (f *facts) findModes() {
	f.found = modes.FindModes(located(f.steady))
	if f.found.Count == 1 {
		if marked := f.findByTraces(); marked.Count > 1 {
			f.found = marked
		}
	}
	for i := range f.steady {
		f.steady[i].mode = f.found.Of[i]
	}
	found := modesOf(f.steady, f.found.Count)
	if len(found) > 1 && !f.evident(found) {
		f.levels = found
		f.found = modes.Modes{Of: make([]int, len(f.steady)), Count: 1}
		for i := range f.steady {
			f.steady[i].mode = 0
		}
		found = modesOf(f.steady, 1)
	}
	f.r.Modes = found
}

// modesOf describes each mode by the processes in it.
func modesOf(units []unit, count int) []record.Mode {
	modes := make([]record.Mode, count)
	for m := range modes {
		in := inMode(units, m)
		modes[m] = record.Mode{
			Share: float64(len(in)) / float64(len(units)), NS: estimate.Median(valuesOf(in, unit.ns)),
			Processes: len(in), Seed: in[0].seed(),
		}
	}
	if count > 1 {
		nameTraces(modes, units)
	}
	return modes
}

func inMode(units []unit, mode int) []unit {
	return slices.DeleteFunc(slices.Clone(units), func(u unit) bool { return u.mode != mode })
}

// distributionOf is the figure of a case: location and interval over the processes of
// its largest mode, and the spread of all batches that count.
func distributionOf(units []unit) (*record.Distribution, []record.Warning) {
	iv, few := estimate.MedianInterval(valuesOf(inMode(units, 0), unit.ns), estimate.Level)
	s := estimate.Sorted(pooled(units))
	return &record.Distribution{
		Interval: iv, Min: s[0], P50: estimate.QuantileSorted(s, 0.5), P90: estimate.QuantileSorted(s, 0.9),
		P99: estimate.QuantileSorted(s, 0.99), Max: s[len(s)-1],
	}, few
}

// pooled are the batches that count of all processes, for drawing.
func pooled(units []unit) []float64 {
	var all []float64
	for _, u := range units {
		for _, v := range u.vms {
			all = append(all, v.own.Samples...)
		}
	}
	return all
}

// emptyOf is what was taken off: the empty twin over processes.
func emptyOf(units []unit) *record.Interval {
	var twins []float64
	for _, u := range units {
		if u.vms[0].own.HasTwin {
			twins = append(twins, u.empty())
		}
	}
	return estimate.MedianIfAny(twins)
}

// gcShareOf is the collector's share of the time, over processes; nil when nothing is
// allocated or the share was not measured.
func gcShareOf(units []unit, bytes *float64) *record.Interval {
	if bytes == nil || *bytes <= 0 {
		return nil
	}
	var shares []float64
	for _, u := range units {
		if s := u.mean(func(p Process) float64 { return p.GCShare }); !math.IsNaN(s) {
			shares = append(shares, s)
		}
	}
	iv := estimate.MedianIfAny(shares)
	if iv != nil {
		clamp := func(x float64) float64 { return min(max(x, 0), 1) }
		*iv = record.Interval{Estimate: clamp(iv.Estimate), Low: clamp(iv.Low), High: clamp(iv.High)}
	}
	return iv
}

// perProcess lists every VM that measured, in order of start, with the mode of its
// process; one that was never steady has mode 0.
func perProcess(timed, steady []unit) []record.ProcessResult {
	modes := map[int]int{}
	for _, u := range steady {
		modes[u.process] = u.mode
	}
	list := []record.ProcessResult{}
	for _, u := range timed {
		for _, v := range u.vms {
			list = append(list, record.ProcessResult{
				Process: u.process, Worker: v.said.Process.Worker, NS: v.own.NS, MinNS: v.own.MinNS,
				Mode: modes[u.process], Steady: v.own.Steadiness.Class, Seed: v.said.Process.Seed,
				Metrics: metricMedians(v.said), Disturbed: v.own.Machine.Disturbed,
			})
		}
	}
	return list
}

func addTallies(a, b record.BatchTally) record.BatchTally {
	return record.BatchTally{
		Measured: a.Measured + b.Measured, Traced: a.Traced + b.Traced, Switched: a.Switched + b.Switched,
		Stolen: a.Stolen + b.Stolen, Unsteady: a.Unsteady + b.Unsteady,
	}
}
