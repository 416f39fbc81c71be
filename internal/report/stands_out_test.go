package report

import (
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// TestStandsOut: a case whose time goes to the garbage collector has its details also beside others, for the table does not
// say so; one whose collector may take next to nothing has not.
func TestStandsOut(t *testing.T) {
	for _, c := range []struct {
		low, estimate float64
		want          bool
	}{{0.44, 0.46, true}, {0.1, 0.3, true}, {0.01, 0.3, false}, {0, 0, false}} {
		got := standsOut(record.CaseResult{NSPerCall: &record.Distribution{}, GCShare: &record.Interval{Estimate: c.estimate, Low: c.low}})
		if got != c.want {
			t.Errorf("%v from %v: %v", c.estimate, c.low, got)
		}
	}
}
