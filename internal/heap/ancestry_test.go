package heap

import (
	"testing"

	"pgregory.net/rapid"
)

// TestNearest: the nearest common ancestor is the one that walking up finds.
func TestNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := int32(rapid.IntRange(1, 300).Draw(t, "vertices"))
		a := newAncestry(int(n), nil)
		depth := rapid.Int32Range(0, n).Draw(t, "depth") // of the path at first
		for v := int32(1); v < n; v++ {
			up := v - 1
			if v > depth {
				up = rapid.Int32Range(0, v-1).Draw(t, "up")
			}
			a.add(v, up)
		}
		for range 20 {
			v, w := rapid.Int32Range(0, n-1).Draw(t, "v"), rapid.Int32Range(0, n-1).Draw(t, "w")
			x, y := v, w
			for x != y {
				if x > y {
					x = a.up[x]
				} else {
					y = a.up[y]
				}
			}
			if got := a.nearest(v, w); got != x {
				t.Fatalf("above %d and %d is %d, not %d", v, w, x, got)
			}
		}
	})
}

// TestDeepAncestry: 262,144 vertices below one another, and as many questions, take no time worth telling.
func TestDeepAncestry(t *testing.T) {
	const n = 1 << 18
	a := newAncestry(2*n, nil)
	for v := int32(1); v < n; v++ {
		a.add(v, v-1)
	}
	for v := int32(n); v < 2*n; v++ { // a branch at each
		a.add(v, v-n)
	}
	for v := int32(n); v < 2*n; v++ {
		w := n + (v*7919)&(n-1)
		if got, want := a.nearest(v, w), min(v, w)-n; got != want && v != w {
			t.Fatalf("above %d and %d is %d, not %d", v, w, got, want)
		}
	}
}
