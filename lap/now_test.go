//go:build !windows

package lap

import (
	"strings"
	"testing"
)

// hrtime read wall time, which may be set back.
func TestClockIsMonotonic(t *testing.T) {
	last := now()
	for range 100_000 {
		reading := now()
		if reading < last {
			t.Fatalf("%d after %d", reading, last)
		}
		last = reading
	}
	if text := base.String(); !strings.Contains(text, "m=") {
		t.Errorf("base %s has no monotonic reading", text)
	}
}
