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

func hrtimeLap() float64 {
	b := hrtime.NewBenchmark(lapsEach)
	return perCall(lapsEach, func() {
		for b.Next() {
		}
	})
}

func hrtimeCounterLap() float64 {
	b := hrtime.NewBenchmarkTSC(lapsEach)
	return perCall(lapsEach, func() {
		for b.Next() {
		}
	})
}

// costs prints what a lap and a span around nothing take from outside.
func costs(rounds int) {
	// The pairs of one clock stand next to each other: ours, then hrtime's.
	candidates := []candidate{
		{"lap, monotonic clock", func() float64 {
			b := lap.NewBenchmark(lapsEach)
			return perCall(lapsEach, func() {
				for b.Next() {
				}
			})
		}},
		{"hrtime", hrtimeLap},
		{"lap, monotonic clock, unfenced", func() float64 {
			b := lap.NewBenchmark(lapsEach).Unfenced()
			return perCall(lapsEach, func() {
				for b.Next() {
				}
			})
		}},
		{"hrtime", hrtimeLap},
		{"lap, counter", func() float64 {
			b := lap.NewBenchmarkTSC(lapsEach)
			return perCall(lapsEach, func() {
				for b.Next() {
				}
			})
		}},
		{"hrtime, counter", hrtimeCounterLap},
		{"lap, counter, unfenced", func() float64 {
			b := lap.NewBenchmarkTSC(lapsEach).Unfenced()
			return perCall(lapsEach, func() {
				for b.Next() {
				}
			})
		}},
		{"hrtime, counter", hrtimeCounterLap},
		{"span, monotonic clock", func() float64 {
			s := lap.NewStopwatch(8)
			return perCall(lapsEach, func() {
				for range lapsEach {
					_ = s.Stop(s.Start())
				}
			})
		}},
		{"hrtime span", func() float64 {
			s := hrtime.NewStopwatch(lapsEach)
			return perCall(lapsEach, func() {
				for range lapsEach {
					s.Stop(s.Start())
				}
			})
		}},
		{"span, counter", func() float64 {
			s := lap.NewStopwatchTSC(8)
			return perCall(lapsEach, func() {
				for range lapsEach {
					_ = s.Stop(s.Start())
				}
			})
		}},
		{"hrtime span, counter", func() float64 {
			s := hrtime.NewStopwatchTSC(lapsEach)
			return perCall(lapsEach, func() {
				for range lapsEach {
					s.Stop(s.Start())
				}
			})
		}},
		{"1000 goroutines, monotonic clock", func() float64 {
			s := lap.NewStopwatch(goroutines)
			return contend(s.Start, func(id int64) { _ = s.Stop(id) })
		}},
		{"hrtime, 1000 goroutines", func() float64 {
			s := hrtime.NewStopwatch(goroutines * spansEach)
			return contend(s.Start, s.Stop)
		}},
		{"1000 goroutines, counter", func() float64 {
			s := lap.NewStopwatchTSC(goroutines)
			return contend(s.Start, func(id int64) { _ = s.Stop(id) })
		}},
		{"hrtime, 1000 goroutines, counter", func() float64 {
			s := hrtime.NewStopwatchTSC(goroutines * spansEach)
			return contend(s.Start, s.Stop)
		}},
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
