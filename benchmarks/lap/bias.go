package main

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/loov/hrtime"
	"github.com/moonlap/moonlap/lap"
)

// links are the lengths of a chain of dependent multiplications, about 1 ns each.
var links = []int{1, 4, 16, 64, 256, 1024, 8192}

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

// biases prints how far each way reads from the truth. All are the lowest of many
// short means, so that interruptions, which only add, cancel.
func biases(rounds int) {
	fmt.Println("Bias on a body of known cost, ns (mean over laps, lowest of all rounds):")
	fmt.Printf("%-10s %-22s %-22s %-22s %-22s %s\n", "body", "lap", "lap, counter", "hrtime", "hrtime, counter", "within 2 ns + 1 %")
	for _, length := range links {
		n := max(200, 200_000/length/4)
		lowest := [5]float64{}
		for i := range lowest {
			lowest[i] = math.Inf(1)
		}
		ours := func(b *lap.Benchmark) float64 {
			for b.Next() {
				chained = chain(length, chained)
			}
			return b.Result().Mean()
		}
		ways := []candidate{
			{"truth", func() float64 { return truth(length, n) }},
			{"lap", func() float64 { return ours(lap.NewBenchmark(n)) }},
			{"lap, counter", func() float64 { return ours(lap.NewBenchmarkTSC(n)) }},
			{"hrtime", func() float64 {
				b := hrtime.NewBenchmark(n)
				for b.Next() {
					chained = chain(length, chained)
				}
				return mean(b.Laps())
			}},
			{"hrtime, counter", func() float64 {
				b := hrtime.NewBenchmarkTSC(n)
				for b.Next() {
					chained = chain(length, chained)
				}
				return mean(b.Laps())
			}},
		}
		for i, values := range interleave(rounds, ways) {
			for _, v := range values {
				lowest[i] = min(lowest[i], v)
			}
		}
		body := lowest[0]
		line := fmt.Sprintf("%-10.2f", body)
		within := true
		for i, v := range lowest[1:] {
			line += fmt.Sprintf(" %-22s", fmt.Sprintf("%+.2f (%+.1f %%)", v-body, 100*(v-body)/body))
			within = within && (i > 1 || math.Abs(v-body) <= 2+body/100)
		}
		fmt.Printf("%s %v\n", line, within)
	}
	fmt.Println()
}

func mean(laps []time.Duration) float64 {
	var sum time.Duration
	for _, d := range laps {
		sum += d
	}
	return float64(sum) / float64(len(laps))
}

// memory prints what a million laps allocate, the constant part apart.
func memory() {
	const laps = 1_000_000
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	ours := func(n int) uint64 {
		return allocated(func() {
			b := lap.NewBenchmark(n)
			for b.Next() {
			}
		})
	}
	theirs := func(n int) uint64 {
		return allocated(func() {
			b := hrtime.NewBenchmark(n)
			for b.Next() {
			}
		})
	}
	fmt.Println("Bytes allocated:")
	fmt.Printf("lap     %7d + %.3f a lap\n", ours(1), (float64(ours(laps))-float64(ours(1)))/laps)
	fmt.Printf("hrtime  %7d + %.3f a lap\n", theirs(1), (float64(theirs(laps))-float64(theirs(1)))/laps)
}
