package observe

import (
	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/sample"
)

var fromSamples []func(all, chosen sample.Series, into evidence.Set)

// FromSamples makes a kind known that samples alone are evidence of: those chosen of all for a profile. nil is a result with nothing.
func FromSamples[R any, P interface {
	*R
	evidence.Result
}](kind string, of func(all, chosen sample.Series) P) {
	fromSamples = append(fromSamples, func(all, chosen sample.Series, into evidence.Set) { evidence.Put(into, kind, of(all, chosen)) })
}

// OfSamples is what samples are evidence of.
func OfSamples(all, chosen sample.Series) evidence.Set {
	set := evidence.Set{}
	for _, add := range fromSamples {
		add(all, chosen, set)
	}
	return set
}
