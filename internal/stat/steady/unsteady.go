package steady

import (
	"cmp"
	"math"
	"slices"

	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// drifts reports whether a stretch without a changepoint still moves in one direction:
// its blocks' floors follow their order (Spearman's rho, well beyond chance), and the
// last third lies further from the first than levels may differ.
func drifts(ys []float64) bool {
	if len(ys) < LeastBatches {
		return false
	}
	floors, _ := blockFloors(ys, min(30, len(ys)/3), 0.10)
	order := make([]float64, len(floors))
	for i := range order {
		order[i] = float64(i)
	}
	rho := correlation(order, ranks(floors))
	third := len(ys) / 3
	moved := estimate.Quantile(ys[len(ys)-third:], 0.10) - estimate.Quantile(ys[:third], 0.10)
	return math.Abs(moved) > levelTolerance && math.Abs(rho) > max(0.5, 2/math.Sqrt(float64(len(order)-1)))
}

// trend reports whether the measured series move in one direction: a single one drifts
// inside; of several, at least four levels follow their order, further than levels may
// differ, and inside most of them the batches go the same way.
func trend(series []stretch, ys []float64) bool {
	if len(series) < 4 {
		drifting := 0
		for _, t := range series {
			if from, to := t.tail(); drifts(ys[from:to]) {
				drifting++
			}
		}
		return 2*drifting > len(series)
	}
	first, last := series[0].steady().floor, series[len(series)-1].steady().floor
	direction := 1.0
	if last < first {
		direction = -1
	}
	along := 0
	for i, t := range series {
		if i > 0 && direction*(t.steady().floor-series[i-1].steady().floor) <= 0 {
			return false
		}
		from, to := t.tail()
		half := (from + to) / 2
		if direction*(estimate.Quantile(ys[half:to], 0.10)-estimate.Quantile(ys[from:half], 0.10)) > 0 {
			along++
		}
	}
	return direction*(last-first) > levelTolerance && 2*along > len(series)
}

// alternates reports whether levels alternate from batch to batch with a period of two
// to four, in most series. Longer cycles are not looked for: a case that allocates has
// them, in step with the collector, and is steady all the same.
func alternates(series []stretch, at []int, ys []float64) bool {
	alternating := 0
	for _, t := range series {
		from, to := t.tail()
		for period := 2; period <= 4 && to-from >= 16*period; period++ {
			if phasesDiffer(at[from:to], ys[from:to], period) {
				alternating++
				break
			}
		}
	}
	return 2*alternating > len(series)
}

// phasesDiffer reports whether the floor of a batch depends on its index modulo the
// period by more than levels and two and a half times the phases' own spread may differ.
func phasesDiffer(at []int, ys []float64, period int) bool {
	phases := make([][]float64, period)
	for k, i := range at {
		phases[i%period] = append(phases[i%period], ys[k])
	}
	var floors, spreads []float64
	for _, p := range phases {
		if len(p) < 8 {
			return false
		}
		s := estimate.Sorted(p)
		floors = append(floors, estimate.QuantileSorted(s, 0.10))
		spreads = append(spreads, estimate.QuantileSorted(s, 0.25)-estimate.QuantileSorted(s, 0.05))
	}
	return slices.Max(floors)-slices.Min(floors) > max(levelTolerance, 2.5*estimate.Median(spreads))
}

// ranks returns each value's rank from 0, ties sharing their mean rank.
func ranks(xs []float64) []float64 {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(xs[a], xs[b]) })
	r := make([]float64, len(xs))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && xs[order[j]] == xs[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			r[k] = float64(i+j-1) / 2
		}
		i = j
	}
	return r
}

// correlation is Pearson's; of ranks it is Spearman's rho. 0 when a side is constant.
func correlation(xs, ys []float64) float64 {
	mx, my, xy, xx, yy := estimate.Mean(xs), estimate.Mean(ys), 0.0, 0.0, 0.0
	for i := range xs {
		xy += (xs[i] - mx) * (ys[i] - my)
		xx += (xs[i] - mx) * (xs[i] - mx)
		yy += (ys[i] - my) * (ys[i] - my)
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}
