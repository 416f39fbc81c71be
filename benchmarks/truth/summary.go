package main

import (
	"fmt"
	"log"
	"math"
	"slices"

	"github.com/moonlap/moonlap/benchmarks/outcomes"
)

// A column is a way to read a tool's answers.
type column struct {
	name, tool string
	different  func(outcome) bool
}

var columns = []column{
	{"moonlap compare", "moonlap", saysDifferent},
	{"moonlap compare without yardsticks", "blind", saysDifferent},
	{"benchstat, 10×A then 10×B", "benchstat", saysDifferent},
	{"hyperfine, as it reads", "hyperfine", saysDifferent},
	{"hyperfine, Welch's test", "hyperfine", func(o outcome) bool { return o.Welch }},
}

func saysDifferent(o outcome) bool { return o.Says == "slower" || o.Says == "faster" }

// found is a difference in the right direction.
func (c column) found(o outcome) bool { return c.different(o) && (o.Effect == 0 || o.Ratio > 1) }

func summarize(path string) {
	all, err := outcomes.Read[outcome](path)
	if err != nil {
		log.Fatal(err)
	}
	loads, first, last := []float64{}, all[0].At, all[0].At
	for _, o := range all {
		loads = append(loads, o.Load)
		if o.At.After(last) {
			last = o.At
		}
	}
	slices.Sort(loads)
	at := func(p float64) float64 { return loads[int(p*float64(len(loads)-1))] }
	fmt.Printf("%s to %s, load %.1f to %.1f (median %.1f)\n\n", first.Format("2006-01-02 15:04"),
		last.Format("15:04 MST"), at(0), at(1), at(0.5))

	fmt.Println("| slower by | tool | says different | 95 % interval | wrong way | largest error | s each | median |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, effect := range append([]float64{0}, effects...) {
		for _, c := range columns {
			row(all, effect, c)
		}
	}
}

func row(all []outcome, effect float64, c column) {
	n, found, wrong, seconds, largest := 0, 0, 0, 0.0, 0.0
	var each []float64
	for _, o := range all {
		if o.Tool != c.tool || o.Effect != effect {
			continue
		}
		n++
		seconds += o.Seconds
		each = append(each, o.Seconds)
		switch {
		case c.found(o):
			found++
		case c.different(o):
			wrong++
		}
		if c.different(o) {
			largest = max(largest, math.Abs(o.Ratio/(1+effect)-1))
		}
	}
	if n == 0 {
		return
	}
	low, high := outcomes.Wilson(found, n)
	slices.Sort(each)
	fmt.Printf("| %g %% | %s | %d of %d: %.0f %% | %.0f–%.0f %% | %d | %.1f %% | %.1f | %.1f |\n", 100*effect, c.name,
		found, n, 100*float64(found)/float64(n), 100*low, 100*high, wrong, 100*largest, seconds/float64(n), each[n/2])
}
