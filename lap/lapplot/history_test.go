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
		Steps:  []Step{{At: 3, Before: 10, After: 25, Low: 2, High: 3}, {At: 6, Before: 25, After: 5}},
	}
	c := History(labels, parse, Trend{Name: "flat", Points: []Point{At(2, 7)}}, Trend{Name: "never measured", Steps: parse.Steps[:0]})
	if diff := cmp.Diff([]string{"parse: 2.5× slower (2.0–3.0) from d", "parse: 5× faster from g"}, c.Notes); diff != "" {
		t.Error(diff)
	}
	if len(c.Series) != 3 || c.Series[2].Name != "flat" {
		t.Fatalf("series %+v", c.Series)
	}
	if diff := cmp.Diff([]Mark{
		{X: 3, Kind: "slower from here", Label: "2.5× slower (2.0–3.0)"},
		{X: 6, Kind: "faster from here", Label: "5× faster"},
	}, c.Series[0].Marks); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Point{At(-0.5, 10), At(2.5, 25), At(5.5, 5), At(6.5, 5)}, c.Series[1].Points); diff != "" {
		t.Errorf("levels: %s", diff)
	}
}

// TestOddHistories are drawn in every format.
func TestOddHistories(t *testing.T) {
	many := Trend{Name: "many"}
	for i := range 500 {
		many.Points = append(many.Points, At(float64(i), float64(1+i/50)))
		if i > 0 && i%50 == 0 {
			many.Steps = append(many.Steps, Step{At: i, Before: float64(i / 50), After: float64(1 + i/50)})
		}
	}
	for name, c := range map[string]*Chart{
		"one point":      History([]string{"a"}, Trend{Name: "x", Points: []Point{At(0, 1)}, Steps: []Step{{At: 0}}}),
		"no labels":      History(nil, many),
		"step beyond":    History([]string{"a", "b"}, Trend{Name: "x", Points: []Point{At(0, 1), At(1, 2)}, Steps: []Step{{At: -1, After: math.Inf(1)}, {At: 9, After: math.NaN()}}}),
		"zero and below": History([]string{"a", "b"}, Trend{Name: "x", Points: []Point{At(0, 0), At(1, -2)}, Steps: []Step{{At: 1, After: -2}}}),
		"many levels":    History(make([]string, 500), many),
	} {
		for _, format := range Formats {
			var out bytes.Buffer
			if err := (&Figure{Charts: []*Chart{c}}).Write(&out, format); err != nil {
				t.Errorf("%s as %s: %v", name, format, err)
			}
		}
	}
	if notes := History(nil, many).Notes; len(notes) != mostSteps+1 || notes[0] != "earlier steps: 1" || notes[8] != "1.11× slower from 450" {
		t.Errorf("notes of nine steps: %q", notes)
	}
}
