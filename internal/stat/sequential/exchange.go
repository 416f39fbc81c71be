package sequential

import (
	"math"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// An exchange test compares two sides that ran in the same blocks, in an order that was drawn for each block. If
// B is A but for a shift, then exchanging the two of a block was as likely, whatever the machine did meanwhile: so
// the sum of what the blocks add, each with a sign drawn anew, has a known distribution (Fisher's randomisation test).
//
// residuals are what each block adds when the shift is taken off B, on the logarithm. They sum to about zero at the
// estimate, above it to less.
type residuals func(shift float64) []float64

// exchangeInterval inverts the test: the shifts that it does not refuse at the tail on each side. It is false
// when even the most extreme outcome of so few blocks is not that rare.
func exchangeInterval(estimate float64, blocks int, of residuals, tail float64) (record.Interval, bool) {
	iv := record.Interval{Estimate: estimate, Low: math.Inf(-1), High: math.Inf(1)}
	if math.IsNaN(estimate) || math.IsInf(estimate, 0) || tail <= 0 || math.Ldexp(1, -blocks) > tail {
		return iv, false
	}
	iv.Low = estimate - refusedFrom(func(distance float64) bool {
		return signChance(of(estimate-distance), 1) <= tail
	})
	iv.High = estimate + refusedFrom(func(distance float64) bool {
		return signChance(of(estimate+distance), -1) <= tail
	})
	return iv, true
}

// refusedFrom is the distance from the estimate from which on shifts are refused; infinite where none is.
func refusedFrom(refused func(distance float64) bool) float64 {
	const (
		first = 1.0 / 1024
		most  = 16.0 // a factor of e^16 is no figure any more
		steps = 14   // which leave an error below a ten thousandth of the distance
	)
	high := first
	for !refused(high) {
		if high *= 2; high > most {
			return math.Inf(1)
		}
	}
	low := high / 2
	if high == first {
		low = 0
	}
	for range steps {
		if middle := (low + high) / 2; refused(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

const (
	// exactSigns is up to how many blocks the distribution is counted out.
	exactSigns = 16
	// signWeight is what the largest residual weighs there. The test is exact for any weights, so rounding costs nothing
	// but a little power.
	signWeight = 60
)

// signChance is the probability that the residuals, each with a random sign, sum to at least what they do in the
// direction sign.
func signChance(residuals []float64, sign int) float64 {
	largest, seen, squares := 0.0, 0.0, 0.0
	for _, d := range residuals {
		largest = max(largest, math.Abs(d))
		seen += d * float64(sign)
		squares += d * d
	}
	if largest == 0 || math.IsNaN(seen) {
		return 1
	}
	if len(residuals) > exactSigns {
		return estimate.NormalCDF(-seen / math.Sqrt(squares))
	}
	weights, total, sum := make([]int, len(residuals)), 0, 0
	for i, d := range residuals {
		weights[i] = int(math.Round(signWeight * d / largest))
		total += max(weights[i], -weights[i])
		sum += weights[i] * sign
	}
	return exceeds(weights, total, sum)
}
