package stat

import (
	"math"
	"slices"
)

// drifts tells whether a stretch without a changepoint still moves in one direction:
// its blocks' floors follow their order (Spearman's rho, well beyond chance), and the
// last third lies further from the first than levels may differ.
func drifts(ys []float64) bool {
	if len(ys) < leastBatches {
		return false
	}
	floors, _ := blockFloors(ys, min(30, len(ys)/3), 0.10)
	order := make([]float64, len(floors))
	for i := range order {
		order[i] = float64(i)
	}
	rho := correlation(order, ranks(floors))
	third := len(ys) / 3
	moved := Quantile(ys[len(ys)-third:], 0.10) - Quantile(ys[:third], 0.10)
	return math.Abs(moved) > levelTolerance && math.Abs(rho) > max(0.5, 2/math.Sqrt(float64(len(order)-1)))
}

// alternates tells whether levels alternate too fast for changepoints. at holds each
// value's index in the whole sequence.
func alternates(at []int, ys []float64) bool {
	for period := 2; period <= 4 && len(ys) >= 16*period; period++ {
		if phasesDiffer(at, ys, period) {
			return true
		}
	}
	return oscillates(ys)
}

// phasesDiffer tells whether the floor of a batch depends on its index modulo the
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
		s := sorted(p)
		floors = append(floors, quantileSorted(s, 0.10))
		spreads = append(spreads, quantileSorted(s, 0.25)-quantileSorted(s, 0.05))
	}
	return slices.Max(floors)-slices.Min(floors) > max(levelTolerance, 2.5*Median(spreads))
}

// oscillates tells whether the ranks are clearly anticorrelated at some lag and
// correlated again at twice that lag, as levels are that alternate in runs of it.
// Neighbours that come and go make positive correlations only.
func oscillates(ys []float64) bool {
	r := ranks(ys)
	least := max(0.25, 4/math.Sqrt(float64(len(r))))
	for lag := 2; lag <= 64 && 8*lag <= len(r); lag++ {
		if autocorrelation(r, lag) < -least && autocorrelation(r, 2*lag) > least {
			return true
		}
	}
	return false
}

func autocorrelation(xs []float64, lag int) float64 {
	return correlation(xs[lag:], xs[:len(xs)-lag])
}

// ranks returns each value's rank from 0, ties sharing their mean rank.
func ranks(xs []float64) []float64 {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case xs[a] < xs[b]:
			return -1
		case xs[a] > xs[b]:
			return 1
		}
		return 0
	})
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
	mx, my, xy, xx, yy := Mean(xs), Mean(ys), 0.0, 0.0, 0.0
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
