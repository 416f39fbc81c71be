package lapplot_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/moonlap/moonlap/lap"
	"github.com/moonlap/moonlap/lap/lapplot"
)

// Two functions, timed lap by lap, over each other in one page.
func Example() {
	dir, err := os.MkdirTemp("", "lapplot")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	// A benchmark of your own hands its laps over in order; any number takes 0.4 MB.
	time1 := func(name string, f func()) *lapplot.Laps {
		laps := lapplot.NewLaps(name)
		for range 2000 {
			start := time.Now()
			f()
			laps.Add(time.Since(start))
		}
		return laps
	}
	numbers := make([]int, 200)
	sorted := time1("sort a sorted slice", func() { slices.Sort(numbers) })
	cloned := time1("clone it", func() { _ = slices.Clone(numbers) })

	file := filepath.Join(dir, "laps.html")
	fmt.Println(lapplot.All(file, sorted, cloned))
	fmt.Println(sorted.Count(), "laps of each")
	// Output:
	// <nil>
	// 2000 laps of each
}

// The result of a benchmark is a histogram: it has a density and percentiles.
func ExampleFromHistogram() {
	b := lap.NewBenchmark(1000)
	for b.Next() {
		time.Sleep(time.Microsecond)
	}
	laps := lapplot.FromHistogram("sleep", b.Result().Histogram)
	chart := lapplot.Percentiles(laps)
	fmt.Println(chart.X.Title, "|", chart.Y.Title)
	// Output: share that takes no longer | time per lap
}

// Times that are known already.
func ExampleCollect() {
	times := []time.Duration{30, 31, 30, 95, 30}
	laps := lapplot.Collect("lookup", slices.Values(times))
	figure := &lapplot.Figure{
		Title:  "Lookups",
		Charts: []*lapplot.Chart{lapplot.Timeline(laps), lapplot.Density(laps)},
		Ratios: []lapplot.Ratio{{A: "map", B: "lookup", Estimate: 0.81, Low: 0.79, High: 0.83, Verdict: "faster"}},
	}
	var page bytes.Buffer
	fmt.Println(figure.WriteHTML(&page), bytes.HasPrefix(page.Bytes(), []byte("<!doctype html>")))
	// Output: <nil> true
}

// A benchmark over commits, with the step that a changepoint search has found.
func ExampleHistory() {
	commits := []string{"3f1c", "a09b", "77de", "c4c4", "09aa", "e1e0"}
	parse := lapplot.Trend{
		Name: "parse",
		Points: []lapplot.Point{
			{X: 0, Y: 101, Low: 99, High: 103}, {X: 1, Y: 100, Low: 98, High: 101}, {X: 2, Y: 102, Low: 99, High: 104},
			{X: 3, Y: 141, Low: 138, High: 144}, {X: 4, Y: 143, Low: 140, High: 145}, {X: 5, Y: 142, Low: 141, High: 144},
		},
		Steps: []lapplot.Step{{At: 3, Before: 101, After: 142, Low: 1.38, High: 1.43}},
	}
	chart := lapplot.History(commits, parse)
	chart.X.Title = "commit"
	fmt.Println(chart.Notes[0])
	// Output: 1.41× slower (1.38–1.43) from c4c4
}

// A plot is whole or not there.
func ExampleFigure_WriteFile() {
	laps := lapplot.NewLaps("nothing measured")
	err := (&lapplot.Figure{Charts: []*lapplot.Chart{lapplot.Timeline(laps)}}).WriteFile("laps.svg")
	_, missing := os.Stat("laps.svg")
	fmt.Println(errors.Is(err, lapplot.ErrEmpty), errors.Is(missing, os.ErrNotExist))
	// Output: true true
}
