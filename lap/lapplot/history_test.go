package lapplot

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHistoryMarksSteps(t *testing.T) {
	labels := []string{"a", "b", "c", "d", "e", "f", "g"}
	parse := Trend{
		Name:   "parse",
		Points: []Point{{X: 0, Y: 10, Low: 9, High: 11}, At(1, 12), At(3, 20), At(4, math.NaN()), At(5, 30), At(6, 5)},
		Steps:  []Step{{At: 6}, {At: 3, Ratio: 1.8, Low: 1.7, High: 1.9}},
	}
	c := History(labels, parse, Trend{Name: "flat", Points: []Point{At(2, 7)}})
	if diff := cmp.Diff([]string{
		"parse at g: 0.2 times the level before",
		"parse at d: 1.8 times (1.7–1.9) the level before",
	}, c.Notes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Mark{
		{X: 3, Kind: "step", Label: "1.8 times (1.7–1.9) the level before"},
		{X: 6, Kind: "step", Label: "0.2 times the level before"},
	}, c.Series[1].Marks); diff != "" {
		t.Error(diff)
	}
	equalNaN := cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })
	if diff := cmp.Diff([]Point{
		At(0, 11), At(1, 11), Gap(1), At(3, 25), At(5, 25), Gap(5), At(6, 5), At(6, 5), Gap(6),
	}, c.Series[0].Points, equalNaN); diff != "" {
		t.Errorf("levels: %s", diff)
	}
}

// TestOddHistories are drawn, or refused as empty, in every format.
func TestOddHistories(t *testing.T) {
	many := Trend{Name: "many"}
	for i := range 500 {
		many.Points = append(many.Points, At(float64(i), float64(1+i/50)))
		if i%50 == 0 {
			many.Steps = append(many.Steps, Step{At: i})
		}
	}
	for name, c := range map[string]*Chart{
		"one point":        History([]string{"a"}, Trend{Name: "x", Points: []Point{At(0, 1)}, Steps: []Step{{At: 0}}}),
		"no labels":        History(nil, many),
		"step beyond":      History([]string{"a", "b"}, Trend{Name: "x", Points: []Point{At(0, 1), At(1, 2)}, Steps: []Step{{At: 9}, {At: -1, Ratio: math.Inf(1)}}}),
		"zero and below":   History([]string{"a", "b"}, Trend{Name: "x", Points: []Point{At(0, 0), At(1, -2)}, Steps: []Step{{At: 1}}}),
		"ten levels, long": History(make([]string, 500), many),
	} {
		for _, format := range Formats {
			var out bytes.Buffer
			if err := (&Figure{Charts: []*Chart{c}}).Write(&out, format); err != nil {
				t.Errorf("%s as %s: %v", name, format, err)
			}
		}
	}
	if notes := History(nil, many).Notes; len(notes) != mostStepNotes+1 || notes[mostStepNotes] != "and 3 earlier steps" {
		t.Errorf("notes of ten levels: %q", notes)
	}
}
