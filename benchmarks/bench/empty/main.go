// Empty shows what an empty function reads: 0 ± 0.3 ns; and what was taken off.
//
//	cd benchmarks/bench && go run ./empty
//
// Each round runs a block of fresh processes of every case on LuaJIT and in nginx,
// and some with the JIT off, where a turn is a real loop with a real call.
package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/moonlap/moonlap/benchmarks/bench/figure"
	"github.com/moonlap/moonlap/internal/record"
)

const tolerance = 0.3 // ns

// A place is where the functions run.
type place struct {
	name string
	args []string
	// Values of the processes by case, and those of the blocks: what a run would report.
	reads, blocks, turn map[string][]float64
	clock               []float64
	source              string
}

var cases = []string{"nothing", "its turn", "a C call"}

func main() {
	rounds := flag.Int("rounds", 8, "rounds of blocks")
	processes := flag.Int("processes", 6, "fresh processes in a block, per case")
	flag.Parse()

	page := figure.Open("What an empty function reads, in ns; median over processes [95 % interval]")
	places := []*place{
		newPlace("luajit", "--runtime", "luajit"),
		newPlace("nginx", "--runtime", "nginx"),
		newPlace("luajit, JIT off", "--runtime", "luajit", "--jit", "off"),
	}
	for round := range *rounds {
		figure.Round(round+1, *rounds)
		for _, i := range rand.Perm(len(places)) {
			p := places[i]
			p.add(figure.Bench(slices.Concat(p.args,
				[]string{"--processes", fmt.Sprint(*processes), "--time", "2s", "empty/empty.lua"})...))
		}
	}

	fmt.Printf("%-16s %-9s  %-23s  %-26s  %s\n", "where", "function", "reads",
		"processes within ± 0.3 ns", "turn of the empty twin, taken off")
	for _, p := range places {
		for _, c := range cases {
			fmt.Printf("%-16s %-9s  %-23s  %-26s  %s\n", p.name, c, figure.Show(figure.Median(p.reads[c]), 3),
				share(p.reads[c]), figure.Show(figure.Median(p.turn[c]), 3))
		}
	}
	fmt.Println()
	for _, p := range places {
		fmt.Printf("%-16s a read of the clock (%s) costs %s\n", p.name, p.source,
			figure.Show(figure.Median(p.clock), 2))
	}
	fmt.Println()
	for _, p := range places[:2] {
		for _, c := range cases[:2] {
			median := figure.Median(p.reads[c])
			page.Claim(figure.Inside(median, -tolerance, tolerance),
				"%s, %s: reads 0 ± 0.3 ns; %s of blocks of %d processes do", p.name, c, share(p.blocks[c]), *processes)
		}
	}
	page.Close()
}

func newPlace(name string, args ...string) *place {
	return &place{name: name, args: args, reads: map[string][]float64{},
		blocks: map[string][]float64{}, turn: map[string][]float64{}}
}

func (p *place) add(run *figure.Run) {
	for _, name := range cases {
		c := run.Case(name)
		if c.NSPerCall != nil {
			p.blocks[name] = append(p.blocks[name], c.NSPerCall.Estimate)
		}
		for _, process := range c.PerProcess {
			if process.Steady != record.SteadyNone {
				p.reads[name] = append(p.reads[name], process.NS)
			}
		}
		if c.EmptyNS != nil {
			p.turn[name] = append(p.turn[name], c.EmptyNS.Estimate)
		}
	}
	for _, process := range run.Record.Processes {
		p.clock = append(p.clock, process.Process.Clock.CostNS)
		p.source = process.Process.Clock.Source
	}
}

// share of the values within the tolerance.
func share(values []float64) string {
	inside := 0
	for _, v := range values {
		if math.Abs(v) <= tolerance {
			inside++
		}
	}
	return fmt.Sprintf("%d of %d (%.1f %%)", inside, len(values), 100*float64(inside)/float64(len(values)))
}
