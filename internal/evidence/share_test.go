package evidence

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMergeShares: parts of the same name are added up, the largest come first, and what is merged stays as it is.
func TestMergeShares(t *testing.T) {
	a := Shares(map[string]float64{"x": 2, "": 5, "y": 2, "z": 4}, 16)
	if d := cmp.Diff([]Share{{Name: "z", Share: 0.25}, {Name: "x", Share: 0.125}, {Name: "y", Share: 0.125}}, a); d != "" {
		t.Error(d)
	}
	half := Scaled(a, 0.5)
	if d := cmp.Diff([]Share{{Name: "y", Share: 0.3125}, {Name: "z", Share: 0.125}, {Name: "x", Share: 0.0625}}, MergeShares(half, []Share{{Name: "y", Share: 0.25}})); d != "" {
		t.Error(d)
	}
	if a[0].Share != 0.25 || half[0].Share != 0.125 {
		t.Errorf("%v, %v", a, half)
	}
}
