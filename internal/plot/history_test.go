package plot

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/lap/lapplot"
)

// runs are points of these ns per call, one a day; 0 has no figure.
func runs(ns ...float64) []record.Point {
	var points []record.Point
	for i, x := range ns {
		p := record.Point{Started: "2026-11-0" + string(rune('1'+i)) + "T02:00:00.000Z", SavedAs: "main"}
		if i > 0 { // the first run knows no commit
			p.Commit, p.Dirty = strings.Repeat(string(rune('a'+i)), 40), i == 1
		}
		if x > 0 {
			p.NSPerCall = &record.Interval{Estimate: x, Low: x - 1, High: x + 1}
		}
		points = append(points, p)
	}
	return points
}

func TestHistory(t *testing.T) {
	h := &record.History{Series: []record.Series{
		{
			Case: "concat", File: "app.lua", Setting: []record.Fact{{What: "JIT", Value: "true"}, {What: "gc", Value: "natural"}},
			Points: runs(10, 10, 0, 20, 20, 15),
			Steps: []record.Step{
				{At: 3, Before: 10, After: 20, Ratio: record.Interval{Estimate: 2, Low: 1.9, High: 2.1}},
				{At: 5, Before: 20, After: 15, Ratio: record.Interval{Estimate: 0.75, Low: 0.5, High: 0.8}},
			},
		},
		{Case: "concat", File: "app.lua", Setting: []record.Fact{{What: "JIT", Value: "false"}}, Points: runs(90)},
		{Case: "empty", Points: runs(0)},
	}}
	f, err := History(h, "moonlap history")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"concat · app.lua", "concat · app.lua"}, titles(f)); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]string{"empty: no run has a figure, so there is nothing to draw"}, f.Notes); diff != "" {
		t.Error(diff)
	}
	c := f.Charts[0]
	if diff := cmp.Diff([]string{"2026-11-01 02:00", "bbbbbbbb+", "cccccccc", "dddddddd", "eeeeeeee", "ffffffff"}, c.X.Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"2.00× slower (1.90–2.10) from dddddddd", "1.3× faster (1.2–2.0) from ffffffff"}, c.Notes); diff != "" {
		t.Error(diff)
	}
	dots, steps := c.Series[0], c.Series[1]
	if diff := cmp.Diff([]lapplot.Mark{
		{X: 3, Kind: "slower from here", Label: "2.00× slower (1.90–2.10)"}, {X: 5, Kind: "faster from here", Label: "1.3× faster (1.2–2.0)"},
	}, dots.Marks); diff != "" {
		t.Error(diff)
	}
	if want := (lapplot.Point{X: 3, Y: 20, Low: 19, High: 21, Label: "2026-11-04 02:00, main"}); len(dots.Points) != 5 || dots.Points[2] != want {
		t.Errorf("points %+v, the third not %+v", dots.Points, want)
	}
	if diff := cmp.Diff([]lapplot.Point{lapplot.At(-0.5, 10), lapplot.At(2.5, 20), lapplot.At(4.5, 15), lapplot.At(5.5, 15)}, steps.Points); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"here: JIT false · gc unknown"}, f.Charts[1].Notes); diff != "" {
		t.Error(diff)
	}
	for _, format := range lapplot.Formats {
		var b bytes.Buffer
		if err := f.Write(&b, format); err != nil || b.Len() == 0 {
			t.Errorf("%s: %v", format, err)
		}
	}
	h.Series = h.Series[2:]
	if _, err := History(h, ""); !errors.Is(err, ErrNoFigure) {
		t.Errorf("nothing to draw: %v", err)
	}
}
