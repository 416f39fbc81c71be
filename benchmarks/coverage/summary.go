package main

import (
	"fmt"
	"log"
	"math"
	"slices"

	"github.com/moonlap/moonlap/benchmarks/outcomes"
)

func summarize(path string) {
	all, err := outcomes.Read[outcome](path)
	if err != nil {
		log.Fatal(err)
	}
	var loads, seconds, pairs []float64
	for _, o := range all {
		loads, seconds, pairs = append(loads, o.Load), append(seconds, o.Seconds), append(pairs, float64(o.Pairs))
	}
	fmt.Printf("%s to %s, %d comparisons, load %.1f to %.1f (median %.1f), median %.0f pairs in %.1f s\n\n",
		all[0].At.Format("2006-01-02 15:04"), all[len(all)-1].At.Format("15:04 MST"), len(all),
		slices.Min(loads), slices.Max(loads), outcomes.Median(loads), outcomes.Median(pairs), outcomes.Median(seconds))

	fmt.Println("| true ratio | interval | holds it | 95 % interval | half width, median | largest miss |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, truth := range []float64{1, 1.05} {
		for _, way := range ways {
			ofRatios(fmt.Sprintf("%.2f", truth), way, all, func(o outcome) bool { return o.Truth == truth })
		}
	}
	for _, work := range works {
		for _, way := range ways {
			ofRatios("both, "+work, way, all, func(o outcome) bool { return o.Work == work })
		}
	}

	fmt.Println("\n| time a call | interval | holds the other runs' median | 95 % interval | half width, median | largest miss |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, work := range works {
		for _, way := range ways {
			ofTimes(work, way, all)
		}
	}
}

// ofRatios is a row: how often the interval holds the true ratio.
func ofRatios(name, way string, all []outcome, chosen func(outcome) bool) {
	var intervals []interval
	var truths []float64
	missing := 0
	for _, o := range all {
		if !chosen(o) {
			continue
		}
		if iv, ok := o.Ratio[way]; ok {
			intervals, truths = append(intervals, iv), append(truths, o.Truth)
		} else {
			missing++
		}
	}
	row(name, way, intervals, truths, missing)
}

// ofTimes is a row: how often the interval of a run's time holds the median of what the
// other runs of the same workload found.
func ofTimes(work, way string, all []outcome) {
	var intervals []interval
	for _, o := range all {
		if iv, ok := o.NS[way]; ok && o.Work == work {
			intervals = append(intervals, iv)
		}
	}
	var truths []float64
	for i := range intervals {
		var others []float64
		for k, iv := range intervals {
			if k != i {
				others = append(others, iv.Estimate)
			}
		}
		truths = append(truths, outcomes.Median(others))
	}
	row(work, way, intervals, truths, 0)
}

func row(name, way string, intervals []interval, truths []float64, missing int) {
	if len(intervals) == 0 {
		return
	}
	held, largest := 0, 0.0
	var widths []float64
	for i, iv := range intervals {
		if iv.holds(truths[i]) {
			held++
		} else {
			largest = max(largest, math.Abs(iv.Estimate/truths[i]-1))
		}
		widths = append(widths, (iv.High-iv.Low)/2/iv.Estimate)
	}
	n := len(intervals)
	low, high := outcomes.Wilson(held, n)
	note := ""
	if missing > 0 {
		note = fmt.Sprintf(" (%d more had too few pairs)", missing)
	}
	fmt.Printf("| %s | %s | %d of %d: %.0f %%%s | %.0f–%.0f %% | ±%.2f %% | %.1f %% |\n", name, way, held, n,
		100*float64(held)/float64(n), note, 100*low, 100*high, 100*outcomes.Median(widths), 100*largest)
}
