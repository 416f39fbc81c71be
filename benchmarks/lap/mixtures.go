package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loov/hrtime"
	"github.com/moonlap/moonlap/lap"
)

// mixtures prints what single laps read of bodies that differ from lap to lap: without fences the
// processor may charge a lap with a neighbour's time.
func mixtures(rounds int) {
	const n = 20_000
	fmt.Println("Bodies of two lengths in random order, ns (± is OverheadPM; lower quartiles of rounds):")
	fmt.Printf("%-44s %-26s %7s %6s %7s %7s %7s %7s\n", "", "", "mean", "±", "p25", "p50", "p97", "p99")
	for _, m := range []struct {
		share       float64
		short, long int
	}{{0.5, 4, 64}, {0.05, 4, 256}, {0.05, 64, 1024}} {
		bodies := make([]int, n)
		for i := range bodies {
			bodies[i] = m.short
			if rand.Float64() < m.share {
				bodies[i] = m.long
			}
		}
		title := fmt.Sprintf("%.0f %% of %.1f ns, the others %.1f ns", 100*m.share,
			lowest(rounds, func() float64 { return truth(m.long, 1000) }),
			lowest(rounds, func() float64 { return truth(m.short, 1000) }))
		for _, w := range []struct {
			name string
			read func() []float64
		}{
			{"alone, without a clock", func() []float64 {
				return []float64{perCall(n, func() {
					for _, length := range bodies {
						chained = chain(length, chained)
					}
				})}
			}},
			{"lap", func() []float64 { return ofLaps(lap.NewBenchmark(n), bodies) }},
			{"lap, TSC", func() []float64 { return ofLaps(lap.NewBenchmarkTSC(n), bodies) }},
			{"hrtime, TSC", func() []float64 {
				b := hrtime.NewBenchmarkTSC(n)
				for i := 0; b.Next(); i++ {
					chained = chain(bodies[min(i, n-1)], chained)
				}
				laps := b.Laps()
				slices.Sort(laps)
				at := func(p int) float64 { return float64(laps[n*p/100]) }
				return []float64{mean(laps), 0, at(25), at(50), at(97), at(99)}
			}},
		} {
			columns := make([][]float64, 6)
			for range rounds {
				for i, v := range w.read() {
					columns[i] = append(columns[i], v)
				}
			}
			fmt.Printf("%-44s %-26s", title, w.name)
			title = ""
			for _, c := range columns {
				if len(c) > 0 {
					fmt.Printf(" %7.1f", lowerQuartile(c))
				}
			}
			fmt.Println()
		}
	}
	fmt.Println()
}

func ofLaps(b *lap.Benchmark, bodies []int) []float64 {
	for i := 0; b.Next(); i++ {
		chained = chain(bodies[min(i, len(bodies)-1)], chained)
	}
	r := b.Result()
	at := func(p float64) float64 { return float64(r.Percentile(p)) / float64(time.Nanosecond) }
	return []float64{r.Mean(), r.OverheadPM, at(25), at(50), at(97), at(99)}
}

func lowest(rounds int, f func() float64) float64 {
	least := f()
	for range rounds {
		least = min(least, f())
	}
	return least
}
