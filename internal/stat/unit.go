package stat

import (
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/modes"
	"github.com/moonlap/moonlap/internal/stat/quiet"
)

// A vm is one VM of a case: what it said, and its own figure.
type vm struct {
	said *record.ProcessRecord
	own  Process
}

// A unit is one process of a case, with one VM or, in nginx, one for each worker. Its
// location is the mean of its workers: they ran at once and shared what they contended
// for, so they are not independent.
type unit struct {
	process int
	vms     []vm
	mode    int
}

func (u unit) ns() float64    { return u.mean(func(p Process) float64 { return p.NS }) }
func (u unit) floor() float64 { return u.mean(func(p Process) float64 { return p.FloorNS }) }
func (u unit) pm() float64    { return u.mean(func(p Process) float64 { return p.PM }) }
func (u unit) empty() float64 { return u.mean(func(p Process) float64 { return p.EmptyNS }) }

func (u unit) mean(of func(Process) float64) float64 {
	values := make([]float64, len(u.vms))
	for i, v := range u.vms {
		values[i] = of(v.own)
	}
	return estimate.Mean(values)
}

// class is the first of these that a worker has: none, slowdown, warmup, flat. Where
// several workers run at once, levels that come and go are how contention looks, and
// are part of the figure: none does not count.
func (u unit) class() string {
	classes := []string{record.SteadyNone, record.SteadySlowdown, record.SteadyWarmup}
	if len(u.vms) > 1 {
		classes = classes[1:]
	}
	for _, class := range classes {
		if slices.ContainsFunc(u.vms, func(v vm) bool { return v.own.Steadiness.Class == class }) {
			return class
		}
	}
	return record.SteadyFlat
}

func (u unit) seed() float64 { return u.vms[0].said.Process.Seed }

// unitsOf groups the healthy VMs that measured something into processes, in order of
// start, and counts the processes that failed. A process that was cut off with the
// record, or by an interrupt, neither counts nor failed.
func unitsOf(said []*record.ProcessRecord, best func(*record.ProcessRecord) quiet.Best) (units []unit, failed int) {
	bad := map[int]bool{}
	for _, p := range said {
		if p.Process.Worker > 0 { // workers that run at once disturb each other, and that is part of the figure
			best = func(*record.ProcessRecord) quiet.Best { return nil }
		}
		if len(p.Faults) > 0 || p.Finish == nil && p.Exit != nil {
			bad[p.Process.Process] = true
		}
	}
	at := map[int]int{}
	for _, p := range said {
		number := p.Process.Process
		if bad[number] || p.Finish == nil {
			continue
		}
		own := locate(p, best(p))
		if !own.Figure() && len(p.Laps) == 0 {
			continue
		}
		if _, ok := at[number]; !ok {
			at[number] = len(units)
			units = append(units, unit{process: number})
		}
		u := &units[at[number]]
		u.vms = append(u.vms, vm{p, own})
	}
	return units, len(bad)
}

// measured are the units whose every VM timed batches; the others have laps alone.
func measured(units []unit) []unit {
	return slices.DeleteFunc(slices.Clone(units), func(u unit) bool {
		return slices.ContainsFunc(u.vms, func(v vm) bool { return !v.own.Figure() })
	})
}

// located is what the search for modes needs of the units.
func located(units []unit) []modes.Located {
	ls := make([]modes.Located, len(units))
	for i, u := range units {
		ls[i] = modes.Located{NS: u.ns(), Floor: u.floor(), PM: u.pm()}
	}
	return ls
}

// besides are the units that are not among others.
func besides(units, others []unit) []unit {
	return slices.DeleteFunc(slices.Clone(units), func(u unit) bool {
		return slices.ContainsFunc(others, func(o unit) bool { return o.process == u.process })
	})
}

func valuesOf(units []unit, of func(unit) float64) []float64 {
	values := make([]float64, len(units))
	for i, u := range units {
		values[i] = of(u)
	}
	return values
}
