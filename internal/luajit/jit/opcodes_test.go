package jit

import (
	"bytes"
	"slices"
	"testing"
)

// TestKnown: a build is known by its table of operations, in either order of MIN and MAX; one operation more, less or of another mode
// makes it another, whose traces are left to their snapshots.
func TestKnown(t *testing.T) {
	for n, table := range modeTables() {
		data := slices.Concat(bytes.Repeat([]byte{0}, 100), table, bytes.Repeat([]byte{7}, 100))
		if !Known(data) {
			t.Errorf("table %d is not known", n)
		}
		at := 100 + int(ADD)
		changed := slices.Clone(data)
		changed[at] ^= 0x20
		for what, other := range map[string][]byte{
			"one more":     slices.Insert(slices.Clone(data), at, 0x42),
			"one less":     slices.Delete(slices.Clone(data), at, at+1),
			"another mode": changed,
		} {
			if Known(other) {
				t.Errorf("table %d with %s is known", n, what)
			}
		}
	}
}
