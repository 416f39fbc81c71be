package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/loov/hrtime"
	"github.com/moonlap/moonlap/lap"
)

const (
	lapsEach   = 100_000
	goroutines = 1000
	spansEach  = 50
)

// perCall is the wall time of f for each of n laps; what f prepares is not in it.
func perCall(n int, f func()) float64 {
	start := time.Now()
	f()
	return float64(time.Since(start)) / float64(n)
}

func laps(b *lap.Benchmark) float64 {
	return perCall(lapsEach, func() {
		for b.Next() {
		}
	})
}

func spans(s *lap.Stopwatch) float64 {
	return perCall(lapsEach, func() {
		for range lapsEach {
			_ = s.Stop(s.Start())
		}
	})
}

func hrtimeLap() float64 {
	b := hrtime.NewBenchmark(lapsEach)
	return perCall(lapsEach, func() {
		for b.Next() {
		}
	})
}

func hrtimeTSCLap() float64 {
	b := hrtime.NewBenchmarkTSC(lapsEach)
	return perCall(lapsEach, func() {
		for b.Next() {
		}
	})
}

func hrtimeSpan() float64 {
	s := hrtime.NewStopwatch(lapsEach)
	return perCall(lapsEach, func() {
		for range lapsEach {
			s.Stop(s.Start())
		}
	})
}

func hrtimeTSCSpan() float64 {
	s := hrtime.NewStopwatchTSC(lapsEach)
	return perCall(lapsEach, func() {
		for range lapsEach {
			s.Stop(s.Start())
		}
	})
}

// costs prints what a lap and a span around nothing take from outside, and what the two
// readings take that any span has at least.
func costs(rounds int) {
	// The pairs stand next to each other: ours, then hrtime's.
	candidates := []candidate{
		{"lap", func() float64 { return laps(lap.NewBenchmark(lapsEach)) }},
		{"hrtime", hrtimeLap},
		{"lap, TSC", func() float64 { return laps(lap.NewBenchmarkTSC(lapsEach)) }},
		{"hrtime, TSC", hrtimeTSCLap},
		{"lap, TSC, all fenced", func() float64 { return laps(lap.NewBenchmarkTSC(lapsEach).Fenced()) }},
		{"hrtime, TSC", hrtimeTSCLap},
		{"span", func() float64 { return spans(lap.NewStopwatch(8)) }},
		{"hrtime span", hrtimeSpan},
		{"two bare time.Since", func() float64 {
			return perCall(lapsEach, func() {
				for range lapsEach {
					last = time.Since(base)
					last += time.Since(base)
				}
			})
		}},
		{"hrtime span", hrtimeSpan},
		{"span, TSC", func() float64 { return spans(lap.NewStopwatchTSC(8)) }},
		{"hrtime span, TSC", hrtimeTSCSpan},
		{"1000 goroutines", func() float64 {
			s := lap.NewStopwatch(goroutines)
			return contend(s.Start, func(id int64) { _ = s.Stop(id) })
		}},
		{"hrtime, 1000 goroutines", func() float64 {
			s := hrtime.NewStopwatch(goroutines * spansEach)
			return contend(s.Start, s.Stop)
		}},
		{"1000 goroutines, TSC", func() float64 {
			s := lap.NewStopwatchTSC(goroutines)
			return contend(s.Start, func(id int64) { _ = s.Stop(id) })
		}},
		{"hrtime, 1000 goroutines, TSC", func() float64 {
			s := hrtime.NewStopwatchTSC(goroutines * spansEach)
			return contend(s.Start, s.Stop)
		}},
	}
	if bareCounterTwice != nil {
		candidates = append(candidates, candidate{"two bare RDTSC", func() float64 {
			return perCall(lapsEach, func() { bareCounterTwice(lapsEach, 0) })
		}}, candidate{"hrtime span, TSC", hrtimeTSCSpan})
	}
	samples := interleave(rounds, candidates)
	fmt.Println("Cost of a lap or span around nothing, ns:")
	fmt.Printf("%-36s %-8s %-26s %s\n", "", "min", "median [95 %]", "ratio to hrtime [95 %]")
	for i, c := range candidates {
		ratio := ""
		if i%2 == 0 {
			ratio = ratios(samples[i], samples[i+1]).String()
		}
		fmt.Printf("%-36s %-8.1f %-26s %s\n", c.name, slices.Min(samples[i]), medianOf(samples[i]), ratio)
	}
	fmt.Println()
}

// contend times spans that many goroutines start and stop at once.
func contend[ID any](start func() ID, stop func(ID)) float64 {
	var ready, done sync.WaitGroup
	open := make(chan struct{})
	ready.Add(goroutines)
	for range goroutines {
		done.Go(func() {
			ready.Done()
			<-open
			for range spansEach {
				stop(start())
			}
		})
	}
	ready.Wait()
	return perCall(goroutines*spansEach, func() {
		close(open)
		done.Wait()
	})
}
