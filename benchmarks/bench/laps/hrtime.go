package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/loov/hrtime"
	"github.com/moonlap/moonlap/benchmarks/bench/figure"
)

// laps is what a process says of one body.
type laps struct {
	Batch float64 // ns per call, timed together
	Lap   float64 // wall time of everything, per lap
	Mean  float64 // of the laps
	P50   float64
}

// warmup lets a fresh process get its CPU to speed; moonlap's have run longer by then.
const warmup = 50 * time.Millisecond

var number float64

// chain is the body of chain.lua.
func chain(steps int) {
	v := number
	if steps < 10 {
		for range steps {
			v += 1.5
		}
	} else {
		for range steps / 10 {
			v += 1.5
			v += 1.5
			v += 1.5
			v += 1.5
			v += 1.5
			v += 1.5
			v += 1.5
			v += 1.5
			v += 1.5
			v += 1.5
		}
	}
	number = v
}

// child measures one body with hrtime and prints laps as JSON:
// child NAME STEPS COUNT.
func child() {
	var steps, count int
	_, err := fmt.Sscan(flag.Arg(2)+" "+flag.Arg(3), &steps, &count)
	figure.Must(err)
	for start := time.Now(); time.Since(start) < warmup; {
		chain(1000)
	}
	said := laps{Batch: batch(steps)}
	var durations []time.Duration
	var took time.Duration
	switch flag.Arg(1) {
	case "hrtime.Benchmark":
		b := hrtime.NewBenchmark(count)
		start := time.Now()
		if steps == 0 {
			for b.Next() {
			}
		} else {
			for b.Next() {
				chain(steps)
			}
		}
		took = time.Since(start)
		durations = b.Laps()
	case "hrtime.BenchmarkTSC":
		b := hrtime.NewBenchmarkTSC(count)
		start := time.Now()
		if steps == 0 {
			for b.Next() {
			}
		} else {
			for b.Next() {
				chain(steps)
			}
		}
		took = time.Since(start)
		durations = b.Laps()
	default:
		figure.Must(fmt.Errorf("no benchmark %q", flag.Arg(1)))
	}
	sum := time.Duration(0)
	for _, d := range durations {
		sum += d
	}
	slices.Sort(durations)
	said.Lap = float64(took) / float64(count)
	said.Mean = float64(sum) / float64(count)
	said.P50 = float64(durations[count/2])
	figure.Must(json.NewEncoder(os.Stdout).Encode(said))
}

// batch times calls together: the median of 40 batches of about 0.1 ms, in ns per call.
func batch(steps int) float64 {
	if steps == 0 {
		return 0
	}
	calls := max(5, 100_000/steps)
	var ns []float64
	for range 40 {
		start := time.Now()
		for range calls {
			chain(steps)
		}
		ns = append(ns, float64(time.Since(start))/float64(calls))
	}
	slices.Sort(ns)
	return ns[len(ns)/2]
}

// hrtimeLaps runs child in a fresh process.
func hrtimeLaps(name string, steps, count int) laps {
	self, err := os.Executable()
	figure.Must(err)
	command := exec.Command(self, "child", name, fmt.Sprint(steps), fmt.Sprint(count))
	command.Stderr = os.Stderr
	output, err := command.Output()
	figure.Must(err)
	var said laps
	figure.Must(json.Unmarshal(output, &said))
	return said
}
