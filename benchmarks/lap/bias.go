package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loov/hrtime"
	"github.com/moonlap/moonlap/lap"
)

// links are the lengths of a chain of dependent multiplications, about 1 ns each.
var links = []int{1, 2, 4, 8, 12, 16, 32, 64, 256, 1024, 8192}

var chained uint64 = 1

//go:noinline
func chain(length int, x uint64) uint64 {
	for range length {
		x = x*0x9E3779B97F4A7C15 + 1
	}
	return x
}

// truth is the time of one chain without any clock near it: a block of calls in a loop,
// as laps are. The loop itself, below 1 ns, is in it as it is in every lap.
func truth(length, calls int) float64 {
	return perCall(calls, func() {
		for range calls {
			chained = chain(length, chained)
		}
	})
}

// A way is one way to time a body: the mean of n of them, in ns.
type way struct {
	name string
	mean func(n, length int) float64
}

// The first two are ours, as they come; the verdict is on them.
const ourWays = 2

var lapWays = []way{
	{"lap", func(n, length int) float64 { return ourLaps(lap.NewBenchmark(n), length) }},
	{"lap, TSC", func(n, length int) float64 { return ourLaps(lap.NewBenchmarkTSC(n), length) }},
	{"hrtime", func(n, length int) float64 {
		b := hrtime.NewBenchmark(n)
		for b.Next() {
			chained = chain(length, chained)
		}
		return mean(b.Laps())
	}},
	{"hrtime, TSC", func(n, length int) float64 {
		b := hrtime.NewBenchmarkTSC(n)
		for b.Next() {
			chained = chain(length, chained)
		}
		return mean(b.Laps())
	}},
}

var spanWays = []way{
	{"span", func(n, length int) float64 { return ourSpans(lap.NewStopwatch(1), n, length) }},
	{"span, TSC", func(n, length int) float64 { return ourSpans(lap.NewStopwatchTSC(1), n, length) }},
	{"hrtime", func(n, length int) float64 {
		s := hrtime.NewStopwatch(n)
		for range n {
			id := s.Start()
			chained = chain(length, chained)
			s.Stop(id)
		}
		return mean(s.Durations())
	}},
	{"hrtime, TSC", func(n, length int) float64 {
		s := hrtime.NewStopwatchTSC(n)
		for range n {
			id := s.Start()
			chained = chain(length, chained)
			s.Stop(id)
		}
		return mean(s.ApproxDurations())
	}},
}

func ourLaps(b *lap.Benchmark, length int) float64 {
	for b.Next() {
		chained = chain(length, chained)
	}
	return b.Result().Mean()
}

func ourSpans(s *lap.Stopwatch, n, length int) float64 {
	for range n {
		id := s.Start()
		chained = chain(length, chained)
		_ = s.Stop(id)
	}
	return s.Result().Mean()
}

// biases prints how far each way reads from the truth. Both are lower quartiles of many
// short means: interruptions make medians of long bodies unsteady, and a minimum would
// choose the round in which most was taken off.
func biases(rounds int, ways []way) {
	fmt.Printf("%-10s", "body")
	for _, w := range ways {
		fmt.Printf(" %-20s", w.name)
	}
	fmt.Println(" within 2 ns + 1 %")
	largest := make([]float64, len(ways)) // of bodies below 300 ns: long ones hold interruptions
	for _, length := range links {
		n := min(10_000, max(40, 200_000/length)) // some 0.3 ms, so that few are interrupted
		candidates := []candidate{{"truth", func() float64 { return truth(length, n) }}}
		for _, w := range ways {
			candidates = append(candidates, candidate{w.name, func() float64 { return w.mean(n, length) }})
		}
		samples := interleave(rounds, candidates)
		body := lowerQuartile(samples[0])
		fmt.Printf("%-10.2f", body)
		within := true
		for i := range ways {
			bias := lowerQuartile(samples[i+1]) - body
			fmt.Printf(" %-20s", fmt.Sprintf("%+.2f (%+.1f %%)", bias, 100*bias/body))
			if body < 300 && math.Abs(bias) > math.Abs(largest[i]) {
				largest[i] = bias
			}
			within = within && (i >= ourWays || math.Abs(bias) <= 2+body/100)
		}
		fmt.Println("", within)
	}
	fmt.Printf("%-10s", "< 300")
	for _, bias := range largest {
		fmt.Printf(" %-20s", fmt.Sprintf("%+.2f at most", bias))
	}
	fmt.Print("\n\n")
}

func lowerQuartile(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[len(values)/4]
}

func mean(laps []time.Duration) float64 {
	var sum time.Duration
	for _, d := range laps {
		sum += d
	}
	return float64(sum) / float64(len(laps))
}
