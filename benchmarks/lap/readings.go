package main

import (
	"fmt"
	"slices"
	"time"
)

var (
	base = time.Now()
	last time.Duration
)

// readings prints what the standard library's monotonic clock adds to a body, with nothing
// around it: no lap on this clock can cost less than one reading, no span less than two.
func readings(rounds int) {
	const turns = 5000
	lengths := []int{0, 4, 8, 16, 64, 256}
	ways := []struct {
		name string
		read func()
	}{
		{"body alone", nil},
		{"time.Since", func() { last = time.Since(base) }},
		{"time.Since twice", func() { last = time.Since(base); last += time.Since(base) }},
		{"time.Now", func() { last = time.Duration(time.Now().UnixNano()) }},
		{"time.Now twice", func() {
			last = time.Duration(time.Now().UnixNano())
			last += time.Duration(time.Now().UnixNano())
		}},
	}
	var candidates []candidate
	for _, w := range ways {
		for _, length := range lengths {
			candidates = append(candidates, candidate{w.name, func() float64 {
				if w.read == nil {
					return truth(length, turns)
				}
				return perCall(turns, func() {
					for range turns {
						w.read()
						chained = chain(length, chained)
					}
				})
			}})
		}
	}
	printAdded("What the bare monotonic clock adds to a body, ns (lowest of all rounds):", len(lengths),
		candidates, interleave(rounds, candidates))
}

// printAdded prints a row for each way, of N bodies each; the first is the bodies alone,
// and taken off the others.
func printAdded(title string, bodies int, candidates []candidate, samples [][]float64) {
	fmt.Println(title)
	for i, c := range candidates {
		if i%bodies == 0 {
			fmt.Printf("%-24s", c.name)
		}
		v := slices.Min(samples[i])
		if i >= bodies {
			v -= slices.Min(samples[i%bodies])
		}
		fmt.Printf(" %7.2f", v)
		if i%bodies == bodies-1 {
			fmt.Println()
		}
	}
	fmt.Println()
}
