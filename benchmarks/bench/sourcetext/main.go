// Sourcetext shows that moonlap and the tutorial's hand-written loop agree on
// ngx.re.find, within 3 %, when both time it in the same nginx worker.
//
//	cd benchmarks/bench && go run ./sourcetext
//
// In each fresh worker the hand-written loop of 1e7 calls runs, then moonlap, then the
// hand-written loop again; the ratio is moonlap's figure to the mean of the two.
//
// On a busy machine the hand-written loop's wall time holds the time that its worker
// waited for a CPU, which moonlap leaves out; so the claim is about the loop's CPU time,
// and the ratio to its wall time stands beside it. On a quiet machine they are one.
package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/moonlap/moonlap/benchmarks/bench/figure"
	"github.com/moonlap/moonlap/internal/record"
)

const tolerance = 0.03

// A clocking is what the hand-written loop says: ns per call.
type clocking struct{ wall, cpu float64 }

func main() {
	workers := flag.Int("workers", 40, "fresh nginx workers")
	flag.Parse()

	page := figure.Open("ngx.re.find by moonlap and by the tutorial's loop of 1e7 calls, in the same worker")
	var moonlap, wall, cpu, loop, toWall, toCPU, net, apart []float64
	unsteady := 0
	for done := range *workers {
		figure.Round(done+1, *workers)
		run := figure.Bench("--processes", "1", "--timeout", "60s", "sourcetext/re_find.lua")
		worker := run.Case("re_find").PerProcess[0]
		if worker.Steady == record.SteadyNone {
			unsteady++
			continue
		}
		hand, empty := handWritten(run.Processes("re_find")[0].Exit.Stdout.Head)
		before, after := hand[0], hand[1]
		mean := clocking{(before.wall + after.wall) / 2, (before.cpu + after.cpu) / 2}

		moonlap = append(moonlap, worker.NS)
		wall, cpu, loop = append(wall, mean.wall), append(cpu, mean.cpu), append(loop, empty.cpu)
		toWall, toCPU = append(toWall, worker.NS/mean.wall), append(toCPU, worker.NS/mean.cpu)
		net = append(net, worker.NS/(mean.cpu-empty.cpu))
		apart = append(apart, after.cpu/before.cpu)
	}

	row := func(what string, values []float64, decimals int) {
		fmt.Printf("%-50s %s\n", what, figure.Show(figure.Median(values), decimals))
	}
	fmt.Printf("median over %d workers [95 %% interval]; %d left out, never steady\n", len(moonlap), unsteady)
	row("moonlap, ns", moonlap, 2)
	row("by hand, wall time, ns", wall, 2)
	row("by hand, CPU time, ns", cpu, 2)
	row("the same loop around an empty function, ns", loop, 2)
	row("by hand after / by hand before, CPU time", apart, 4)
	row("moonlap / by hand, wall time", toWall, 4)
	row("moonlap / by hand less its loop, CPU time", net, 4)
	row("moonlap / by hand, CPU time", toCPU, 4)
	fmt.Println()
	page.Claim(figure.Inside(figure.Median(toCPU), 1-tolerance, 1+tolerance),
		"moonlap is within 3 %% of the hand-written loop")
	page.Close()
}

// handWritten reads what re_find.lua prints: two times by hand, one of the empty loop.
func handWritten(output string) (hand []clocking, empty clocking) {
	for line := range strings.Lines(output) {
		var what string
		var c clocking
		_, err := fmt.Sscan(line, &what, &c.wall, &c.cpu)
		switch {
		case err == nil && what == "hand":
			hand = append(hand, c)
		case err == nil && what == "loop":
			empty = c
		default:
			figure.Must(fmt.Errorf("the worker printed %q", line))
		}
	}
	if len(hand) != 2 || empty == (clocking{}) {
		figure.Must(fmt.Errorf("the worker printed %q, not two times by hand and one of the loop", output))
	}
	return hand, empty
}
