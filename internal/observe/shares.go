package observe

import (
	"slices"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/sample"
)

// Shares are parts of samples by name, weighed as their time; "" is left out.
func Shares(l sample.Series, samples []sample.Sample, of float64, name func(sample.Sample) string) []evidence.Share {
	sums := map[string]float64{}
	for _, s := range samples {
		sums[name(s)] += l.Weight(s)
	}
	return evidence.Shares(sums, of)
}

// WithLua are samples with Lua on the stack.
func WithLua(samples []sample.Sample) []sample.Sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s sample.Sample) bool { return !s.Lua })
}
