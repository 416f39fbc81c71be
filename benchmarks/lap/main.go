// Command lap compares package lap with github.com/loov/hrtime in one process: what a
// lap and a span cost, how far off bodies of known cost read, what a lap allocates.
// Candidates take turns in random order within each round; ratios are paired by round
// and given as median with a 95 % interval of order statistics.
package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/moonlap/moonlap/lap"
)

func main() {
	rounds := flag.Int("rounds", 60, "rounds of each comparison")
	flag.Parse()
	if *rounds < 6 {
		fmt.Fprintln(os.Stderr, "a 95 % interval needs at least 6 rounds")
		os.Exit(2)
	}
	fmt.Printf("%s %s/%s, GOMAXPROCS %d, %s, %d rounds\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.GOMAXPROCS(0), time.Now().UTC().Format(time.DateOnly), *rounds)
	fmt.Printf("The system's clock is read from: %s; the TSC types read: %s\n\n",
		lap.NewBenchmark(1).Result().Clock, lap.NewBenchmarkTSC(1).Result().Clock)
	costs(*rounds)
	fmt.Println("Bias of laps on a body of known cost, ns (mean of laps, lower quartile of rounds):")
	biases(*rounds, lapWays)
	fmt.Println("Bias of spans on the same bodies, ns:")
	biases(*rounds, spanWays)
	mixtures(*rounds)
	readings(*rounds)
	floor(*rounds)
	memory()
}

// A candidate is one way to do the same thing; run returns ns per lap or span.
type candidate struct {
	name string
	run  func() float64
}

// interleave runs all candidates once a round, in random order: samples[c][round].
func interleave(rounds int, candidates []candidate) [][]float64 {
	samples := make([][]float64, len(candidates))
	for i := range samples {
		samples[i] = make([]float64, rounds)
	}
	for round := range rounds {
		for _, i := range rand.Perm(len(candidates)) {
			runtime.GC() // nobody pays for another's garbage
			samples[i][round] = candidates[i].run()
		}
	}
	return samples
}

// interval is a median and its 95 % interval from order statistics, assuming
// independent rounds and nothing else.
type interval struct{ low, median, high float64 }

func medianOf(values []float64) interval {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	// Ranks n/2 ± 1.96·√n/2: the normal approximation of the binomial.
	margin := 1.96 * math.Sqrt(float64(n)) / 2
	low := max(0, int(math.Floor(float64(n)/2-margin)))
	high := min(n-1, int(math.Ceil(float64(n)/2+margin))-1)
	return interval{sorted[low], (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[high]}
}

func ratios(a, b []float64) interval {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return medianOf(r)
}

func (i interval) String() string { return fmt.Sprintf("%.3g [%.3g, %.3g]", i.median, i.low, i.high) }
