package changepoints

import (
	"math"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

const (
	// leastLevel is how many runs a level needs: one or two are as likely a disturbance.
	leastLevel = 3
	// stepPenalty is what a step must gain, in units of the noise's variance, as a multiple
	// of log n. Chosen by simulation (steps_sim_test.go).
	stepPenalty = 5
	// runNoise is the relative deviation between runs that is always allowed for: what is
	// below the smallest effect that matters is no step.
	runNoise = estimate.DefaultMargin / 2
)

// A Figure is that of a run.
type Figure struct {
	record.Interval
	// Slowed is by how much the machine may have slowed what was measured, as yardsticks tell: 0.4 is 40 %.
	Slowed float64
}

// Steps finds the steps in a series of figures, one a run, in order of time: the partition
// into levels that explains them best (PELT, as in [Changepoints]), on logarithms, with
// Gaussian cost. Each figure counts by its own uncertainty: that of its interval, or the
// noise from run to run, whichever is larger. The latter is taken from the differences of
// neighbours, hardly any of which is a step. A figure that the machine slowed counts by as much
// less. A step's ratio has an interval of [Level], given that the level changes there, with room
// for what slowed either level; a step whose interval holds 1 is none. A level is the weighted
// geometric mean of its figures.
//
// Series of fewer than six figures, or with one at or below zero, have no steps.
func Steps(series []Figure) []record.Step {
	steps := []record.Step{}
	n := len(series)
	if n < 2*leastLevel {
		return steps
	}
	ys, own, slowed := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, iv := range series {
		if iv.Low <= 0 || iv.Estimate <= 0 || iv.High < iv.Low || math.IsInf(iv.High, 0) {
			return steps
		}
		ys[i] = math.Log(iv.Estimate)
		own[i] = (math.Log(iv.High) - math.Log(iv.Low)) / 2 / estimate.NormalQuantile((1+estimate.Level)/2)
		slowed[i] = math.Log1p(max(iv.Slowed, 0))
	}
	noise := max(runNoise, neighbourNoise(ys))
	levels := newLevels(ys, own, slowed, noise)
	changes := pelt(n, levels.cost, stepPenalty*math.Log(float64(n)), leastLevel)
	bounds := append(append([]int{0}, changes...), n)
	for i := 1; i < len(bounds)-1; i = len(steps) + 1 {
		step := levels.step(bounds[i-1], bounds[i], bounds[i+1])
		if step.Ratio.Low <= 1 && 1 <= step.Ratio.High {
			// The two levels are one, which changes the step before it.
			bounds = slices.Delete(bounds, i, i+1)
			steps = steps[:max(0, len(steps)-1)]
			continue
		}
		steps = append(steps, step)
	}
	for i := range steps {
		steps[i].Before *= series[0].Estimate
		steps[i].After *= series[0].Estimate
	}
	return steps
}

// step is that between two levels which begin at from and at and end before to; the levels
// are relative to the first value of all.
func (l levels) step(from, at, to int) record.Step {
	before, varBefore := l.mean(from, at)
	after, varAfter := l.mean(at, to)
	arm := estimate.NormalQuantile((1+estimate.Level)/2) * math.Sqrt(varBefore+varAfter)
	shift := after - before
	low, high := shift-arm-l.slowed(at, to), shift+arm+l.slowed(from, at)
	return record.Step{
		At: at, Before: math.Exp(before), After: math.Exp(after),
		Ratio: record.Interval{Estimate: math.Exp(shift), Low: math.Exp(low), High: math.Exp(high)},
	}
}

// slowed is by how much a level may be too high. What slows a machine stays for days, so that more
// runs do not average it out.
func (l levels) slowed(from, to int) float64 {
	return (l.ws[to] - l.ws[from]) / (l.w[to] - l.w[from])
}

// neighbourNoise is the deviation of single values, from the differences of neighbours: three
// of four are below 1.15·√2 times it where the noise is normal.
func neighbourNoise(ys []float64) float64 {
	differences := make([]float64, len(ys)-1)
	for i := range differences {
		differences[i] = math.Abs(ys[i+1] - ys[i])
	}
	return estimate.Quantile(differences, 0.75) / (estimate.NormalQuantile(0.875) * math.Sqrt2)
}

// levels hold running sums of weights, weighted values, weighted squares, and of what slowed the runs, weighted.
type levels struct{ w, wy, wyy, ws []float64 }

func newLevels(ys, own, slowed []float64, noise float64) levels {
	n := len(ys)
	l := levels{make([]float64, n+1), make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)}
	for i, y := range ys {
		weight := 1 / (math.Pow(max(own[i], noise), 2) + slowed[i]*slowed[i])
		l.ws[i+1] = l.ws[i] + weight*slowed[i]
		l.w[i+1] = l.w[i] + weight
		l.wy[i+1] = l.wy[i] + weight*(y-ys[0]) // from the first value, for the sake of digits
		l.wyy[i+1] = l.wyy[i] + weight*(y-ys[0])*(y-ys[0])
	}
	return l
}

// cost is -2 log likelihood of a level, but for what all partitions share.
func (l levels) cost(from, to int) float64 {
	w, wy := l.w[to]-l.w[from], l.wy[to]-l.wy[from]
	return l.wyy[to] - l.wyy[from] - wy*wy/w
}

// mean is the weighted mean, less the first value of all, and its variance.
func (l levels) mean(from, to int) (mean, variance float64) {
	w := l.w[to] - l.w[from]
	return (l.wy[to] - l.wy[from]) / w, 1 / w
}
