package stat

import (
	"math"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/modes"
	"github.com/moonlap/moonlap/internal/stat/quiet"
)

// Location returns a process's own figure in ns per call, the empty twin taken off, by the best that is known of the
// yardsticks; false when it measured nothing that counts or was never steady. disturbed says that it had no quiet moment.
func Location(p *record.ProcessRecord, best quiet.Best) (ns float64, disturbed, ok bool) {
	l := locate(p, best)
	return l.NS, l.Machine.Disturbed, l.Figure() && l.Steadiness.Class != record.SteadyNone
}

// Precision returns how wide the interval of these process locations would be, as ±
// relative to the estimate (of an estimate below 1 ns, relative to 1 ns): 0.01 is
// ± 1 %. Where there are modes it is that of the largest, whose figure is reported. It
// is infinite as long as there are too few for an interval. A run uses it to stop when
// the figure is good enough.
func Precision(locations []float64) float64 {
	located := make([]modes.Located, len(locations))
	for i, ns := range locations {
		located[i] = modes.Located{NS: ns, Floor: ns}
	}
	var main []float64
	for i, mode := range modes.FindModes(located).Of {
		if mode == 0 {
			main = append(main, locations[i])
		}
	}
	iv, warnings := estimate.MedianInterval(main, estimate.Level)
	if len(warnings) > 0 {
		return math.Inf(1)
	}
	return relativeWidth(iv)
}

// relativeWidth is the half width of an interval relative to its estimate, or to 1 ns
// where that is larger: close to zero, a relative width says nothing.
func relativeWidth(iv record.Interval) float64 {
	return halfWidth(iv) / max(math.Abs(iv.Estimate), 1)
}
