// Laps shows what a lap costs, and what it adds to or hides of bodies of known cost:
// moonlap's --laps under LuaJIT beside Go's hrtime v1.0.4.
//
//	cd benchmarks/bench && go run ./laps
//
// The bodies are chains of dependent additions, known from timing many together in the
// same process. Fresh processes of all candidates alternate in random order.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"

	"github.com/moonlap/moonlap/benchmarks/bench/figure"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/lap"
)

const (
	costLaps = 200_000 // of an empty body, to see what laps cost
	biasLaps = 5_000   // few, so that most processes are not interrupted meanwhile
	// The mean lap of a short body is biased by at most so much. It tells more than the
	// median where the body is shorter than a step of the clock; of a longer body it mostly
	// tells of interruptions.
	biasNS = 4.0
	short  = 10 // steps
)

var (
	candidates = []string{"moonlap --laps", "hrtime.Benchmark", "hrtime.BenchmarkTSC"}
	steps      = []int{2, 10, 100, 1000, 10000}
)

// column is what the processes of one candidate said.
type column struct {
	cost, taken      []float64 // per lap: wall time, and what is taken off
	known, bias, p50 map[int][]float64
	step             float64 // of moonlap's clock
}

func main() {
	rounds := flag.Int("rounds", 30, "fresh processes of each")
	flag.Parse()
	if flag.Arg(0) == "child" {
		child()
		return
	}

	page := figure.Open("Laps of moonlap under LuaJIT and of Go's hrtime v1.0.4, in ns; median over processes [95 % interval]")
	columns := map[string]*column{}
	for _, name := range candidates {
		columns[name] = &column{known: map[int][]float64{}, bias: map[int][]float64{}, p50: map[int][]float64{}}
	}
	for round := range *rounds {
		figure.Round(round+1, *rounds)
		for _, i := range rand.Perm(len(candidates)) {
			if name := candidates[i]; i == 0 {
				columns[name].addMoonlap()
			} else {
				columns[name].addHrtime(name)
			}
		}
	}
	report(page, columns)
	page.Close()
}

func (c *column) addMoonlap() {
	common := []string{"--runtime", "luajit", "--processes", "1", "--time", "1s"}
	run := figure.Bench(append(common, "--filter", "^empty$", fmt.Sprintf("--laps=%d", costLaps), "laps/chain.lua")...)
	empty := run.Processes("empty")[0].Laps[0]
	c.cost = append(c.cost, empty.ElapsedNS/float64(empty.Count))
	c.taken = append(c.taken, empty.OverheadNS)

	run = figure.Bench(append(common, "--filter", "^chain", fmt.Sprintf("--laps=%d", biasLaps), "laps/chain.lua")...)
	for _, n := range steps {
		process := run.Processes(fmt.Sprintf("chain/steps=%d", n))[0]
		c.step = process.Process.Clock.StepNS
		said := process.Laps[0]
		histogram, err := lap.Decode(said.Histogram)
		figure.Must(err)
		c.add(n, laps{Batch: gross(process), Mean: said.MeanNS, P50: float64(histogram.Percentile(50))})
	}
}

// gross is the time of a call in batches, loop included: the chain hides the loop's work.
func gross(process *record.ProcessRecord) float64 {
	var ns []float64
	for _, b := range process.Batches {
		if b.Kind == record.Measure {
			for i, calls := range b.Calls {
				ns = append(ns, b.NS[i]/float64(calls))
			}
		}
	}
	return estimate.Median(ns)
}

func (c *column) addHrtime(name string) {
	c.cost = append(c.cost, hrtimeLaps(name, 0, costLaps).Lap)
	c.taken = append(c.taken, 0)
	for _, n := range steps {
		c.add(n, hrtimeLaps(name, n, biasLaps))
	}
}

func (c *column) add(n int, l laps) {
	c.known[n] = append(c.known[n], l.Batch)
	c.bias[n] = append(c.bias[n], l.Mean-l.Batch)
	c.p50[n] = append(c.p50[n], l.P50-l.Batch)
}

func report(page *figure.Page, columns map[string]*column) {
	moonlap := columns[candidates[0]]
	fmt.Printf("%-20s  %-26s  %-26s  %s\n", "cost of a lap", "wall time a lap", "taken off a lap", "moonlap's wall time / this")
	for _, name := range candidates {
		c := columns[name]
		fmt.Printf("%-20s  %-26s  %-26s  %s\n", name, figure.Show(figure.Median(c.cost), 2),
			figure.Show(figure.Median(c.taken), 2), figure.Show(figure.Ratio(c.cost, moonlap.cost), 3))
	}
	for _, n := range steps {
		fmt.Printf("\n%-20s  %-26s  %-26s  %s\n", fmt.Sprintf("body of %d steps", n), "known cost",
			"bias of the mean lap", "bias of the median lap")
		for _, name := range candidates {
			c := columns[name]
			fmt.Printf("%-20s  %-26s  %-26s  %s\n", name, figure.Show(figure.Median(c.known[n]), 2),
				figure.Show(figure.Median(c.bias[n]), 2), figure.Show(figure.Median(c.p50[n]), 1))
		}
	}
	fmt.Println()
	for _, n := range steps {
		page.Claim(figure.Inside(figure.Median(moonlap.p50[n]), -moonlap.step, moonlap.step),
			"moonlap's median lap of %d steps is within one step of the clock (%.1f ns)", n, moonlap.step)
		if n <= short {
			page.Claim(figure.Inside(figure.Median(moonlap.bias[n]), -biasNS, biasNS),
				"moonlap's mean lap of %d steps is within %g ns", n, biasNS)
		}
	}
	slower := figure.Ratio(columns[candidates[1]].cost, moonlap.cost)
	page.Claim(slower.High < 1, "a lap costs less than with hrtime.Benchmark")
}
