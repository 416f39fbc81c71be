// Memory shows that the measuring process needs no more memory for 1e8 laps than for
// 1e4, beside Go's hrtime v1.0.4, which keeps every lap.
//
//	cd benchmarks/bench && go run ./memory
//
// The largest resident set of fresh processes, which alternate in random order. The
// last row of hrtime needs 1 GB.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/loov/hrtime"
	"github.com/moonlap/moonlap/benchmarks/bench/figure"
)

const (
	flat = 0.05 // growth from the fewest to the most laps
	mb   = 1e6
)

var counts = []int{1e4, 1e5, 1e6, 1e7, 1e8}

func main() {
	rounds := flag.Int("rounds", 7, "fresh processes of each")
	flag.Parse()
	if flag.Arg(0) == "child" {
		count, err := strconv.Atoi(flag.Arg(1))
		figure.Must(err)
		for b := hrtime.NewBenchmark(count); b.Next(); {
		}
		return
	}

	page := figure.Open("Largest resident set of the measuring process, in MB; median over processes [95 % interval]")
	moonlap, peer := map[int][]float64{}, map[int][]float64{}
	for round := range *rounds {
		figure.Round(round+1, *rounds)
		for _, i := range rand.Perm(2 * len(counts)) {
			if n := counts[i/2]; i%2 == 0 {
				moonlap[n] = append(moonlap[n], moonlapRSS(n))
			} else {
				peer[n] = append(peer[n], hrtimeRSS(n))
			}
		}
	}

	fmt.Printf("%-12s  %-26s  %s\n", "laps", "moonlap --laps", "hrtime.Benchmark")
	for _, n := range counts {
		fmt.Printf("%-12d  %-26s  %s\n", n, figure.Show(figure.Median(moonlap[n]), 2), figure.Show(figure.Median(peer[n]), 2))
	}
	fewest, most := counts[0], counts[len(counts)-1]
	growth := figure.Ratio(moonlap[fewest], moonlap[most])
	fmt.Printf("%-12s  %-26s  %s\n\n", "last / first", figure.Show(growth, 3), figure.Show(figure.Ratio(peer[fewest], peer[most]), 3))
	page.Claim(figure.Inside(growth, 1-flat, 1+flat), "moonlap's memory is the same from 1e4 to 1e8 laps, within 5 %%")
	page.Close()
}

func moonlapRSS(laps int) float64 {
	run := figure.Bench("--runtime", "luajit", "--processes", "1", "--time", "1s", "--timeout", "2m",
		fmt.Sprintf("--laps=%d", laps), "-e", "return")
	process := run.Record.Processes[0]
	if got := process.Laps[0].Count; got != int64(laps) {
		figure.Must(fmt.Errorf("moonlap timed %d laps, not %d", got, laps))
	}
	return float64(process.Exit.MaxRSS) / mb
}

func hrtimeRSS(laps int) float64 {
	self, err := os.Executable()
	figure.Must(err)
	command := exec.Command(self, "child", fmt.Sprint(laps))
	command.Stderr = os.Stderr
	figure.Must(command.Run())
	return float64(command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) * 1024 / mb
}
