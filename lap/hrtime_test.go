package lap_test

import (
	"bytes"
	"fmt"
	"math/bits"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	hrtime "github.com/moonlap/moonlap/lap"
)

// A program of hrtime's moves by its import; docs/how-to/from-hrtime.md has the table.
// Here is every name that it says is the same.

func TestMovedBenchmark(t *testing.T) {
	for name, bench := range map[string]*hrtime.Benchmark{
		"clock": hrtime.NewBenchmark(100), "TSC": hrtime.NewBenchmarkTSC(100),
	} {
		n := 0
		for bench.Next() {
			n += bits.OnesCount(uint(n)) + 1
		}
		checkMoved(t, name, bench.Histogram(10), bench.HistogramClamp(10, 1, time.Second))
	}
	_ = hrtime.TSCSupported()
}

func TestMovedStopwatch(t *testing.T) {
	for name, bench := range map[string]*hrtime.Stopwatch{
		"clock": hrtime.NewStopwatch(100), "TSC": hrtime.NewStopwatchTSC(100),
	} {
		for range 100 {
			go func() {
				span := bench.Start()
				bench.Stop(span)
			}()
		}
		bench.Wait()
		checkMoved(t, name, bench.Histogram(10), bench.HistogramClamp(10, 1, time.Second))
	}
}

func TestMovedHistogram(t *testing.T) {
	h := hrtime.NewHistogram()
	for i := range 100 {
		h.Record(time.Duration(i))
	}
	checkMoved(t, "recorded", h.Summary(10))
}

func checkMoved(t *testing.T, name string, histograms ...*hrtime.Summary) {
	t.Helper()
	for _, h := range histograms {
		points := []float64{h.Minimum, h.P50, h.P90, h.P99, h.P999, h.P9999, h.Maximum}
		if !slices.IsSorted(points) {
			t.Errorf("%s: %v", name, points)
		}
		total := int64(0)
		for _, bin := range h.Bins {
			total += int64(bin.Count)
		}
		if total != h.Count || h.Count != 100 {
			t.Errorf("%s: %d in bins of %d", name, total, h.Count)
		}
		var all, stats bytes.Buffer
		h.WriteTo(&all)
		h.WriteStatsTo(&stats)
		if h.String() != all.String() || h.StringStats() != stats.String() || !strings.HasPrefix(all.String(), stats.String()) {
			t.Errorf("%s: prints\n%s\n%s", name, &all, &stats)
		}
		before := h.Average
		h.Divide(2)
		if h.Average != before/2 {
			t.Errorf("%s: average %v, divided %v", name, before, h.Average)
		}
	}
}

// TestTheTable holds the page to the code above: what is the same there is used here.
func TestTheTable(t *testing.T) {
	page, err := os.ReadFile("../docs/how-to/from-hrtime.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("hrtime_test.go")
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*`.*) \\| .*the same.* \\| .* \\|$").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(row[1], "hrtesting") {
			continue // lap/laptest has tests of its own
		}
		for _, name := range regexp.MustCompile("`(\\w+)").FindAllStringSubmatch(row[1], -1) {
			checked[name[1]] = true
			if name[1] != "Histogram" && !regexp.MustCompile(`\.`+name[1]+`\b`).Match(source) {
				t.Errorf("the page has %s, which is not tried here", name[1])
			}
		}
	}
	for _, name := range []string{"NewBenchmark", "Next", "NewBenchmarkTSC", "HistogramClamp", "NewStopwatch", "Wait", "P50", "TSCSupported"} {
		if !checked[name] {
			t.Errorf("%s is not found on the page: %v", name, checked)
		}
	}
}

// hrtime's own first example, whose only change is the import.
func Example_fromHrtime() {
	const numberOfExperiments = 100

	bench := hrtime.NewBenchmark(numberOfExperiments)
	for bench.Next() {
		time.Sleep(time.Nanosecond)
	}
	fmt.Println(bench.Histogram(10).Count)

	watch := hrtime.NewStopwatch(100)
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			span := watch.Start()
			watch.Stop(span)
		})
	}
	watch.Wait()
	fmt.Println(watch.Histogram(10).Count)
	// Output:
	// 100
	// 100
}
