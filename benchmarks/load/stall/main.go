// Stall stops the server for a part of every second and asks what the load engine says of it, in an open and in a closed
// loop, beside the open-loop truth of truth/truth.c:
//
//	make -C ../.. build && go run ./stall -rounds 6 -svg stall.svg
//	go run ./stall -rounds 6 -seconds 5 -peers      and beside wrk2, oha, bombardier and h2load, where they are installed
//	go run ./stall -stall 600ms -rate 500           more than half of the requests meet the stall, so p50 is of one that did
//
// The truth runs twice in each round. By how much it differs from itself is how well anything can be known here.
//
// -svg draws the distributions of all rounds together: the picture of docs/explanation/load.md.
//
// It takes luajit, nginx, openssl and cc. Exit status: 0 ok, 1 error, 2 usage.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/benchmarks/load/target"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/lap"
	"github.com/moonlap/moonlap/lap/lapplot"
)

const (
	level   = 0.95
	sockets = 3000

	truthName = "truth"
	againName = "the truth once more"
)

var percentiles = []float64{50, 90, 99, 99.9}

// What every side does: so many requests a second, while the server stands still for the first part of each.
var (
	rate  = 2000
	stall = 200 * time.Millisecond
)

func main() {
	rounds := flag.Int("rounds", 6, "rounds; in each, every side runs once")
	seconds := flag.Int("seconds", 10, "length of one run")
	others := flag.Bool("peers", false, "also other load generators")
	svg := flag.String("svg", "", "draw the distributions into this file")
	flag.IntVar(&rate, "rate", rate, "requests a second")
	flag.DurationVar(&stall, "stall", stall, "the part of each second in which the server stands still")
	flag.Parse()
	if stall < 0 || stall >= time.Second || rate < 1 || rate*int(stall/time.Millisecond) > sockets*1000/2 {
		fmt.Fprintf(os.Stderr, "stall: -stall is below 1s, and -rate 1 or more; at most %d requests are due in a stall\n", sockets/2)
		os.Exit(2)
	}
	if *rounds < estimate.LeastForMedian(level) {
		fmt.Fprintf(os.Stderr, "stall: -rounds: a 95 %% interval needs at least %d\n", estimate.LeastForMedian(level))
		os.Exit(2)
	}
	if err := run(*rounds, *seconds, *others, *svg); err != nil {
		fmt.Fprintln(os.Stderr, "stall:", err)
		os.Exit(1)
	}
}

func run(rounds, seconds int, others bool, svg string) error {
	s, err := target.Start()
	if err != nil {
		return err
	}
	defer s.Close()
	truth := filepath.Join(s.Folder, "truth")
	if out, err := exec.Command("cc", "-O2", "-o", truth, "stall/truth/truth.c").CombinedOutput(); err != nil {
		return fmt.Errorf("cc: %w\n%s", err, out)
	}
	sides := []side{
		{truthName, func() (outcome, error) { return runTruth(truth, s, seconds) }},
		{againName, func() (outcome, error) { return runTruth(truth, s, seconds) }},
		{fmt.Sprintf("open loop, %d a second, 32 connections", rate), func() (outcome, error) {
			return runEngine(s, fmt.Sprintf("rate=%d, connections=32, duration_ns=%de9", rate, seconds))
		}},
		{"closed loop, corrected, 32 connections", func() (outcome, error) {
			return runEngine(s, fmt.Sprintf("connections=32, duration_ns=%de9", seconds))
		}},
	}
	own := len(sides)
	if others {
		sides = append(sides, installed(s, seconds)...)
	}
	from, first := time.Now().UTC(), target.LoadAverage()
	all := map[string][]outcome{}
	for round := range rounds {
		for _, i := range rand.Perm(len(sides)) {
			fmt.Fprintf(os.Stderr, "\r\033[Kround %d of %d: %s", round+1, rounds, sides[i].name)
			o, err := stalled(s, sides[i].run)
			if err != nil {
				return fmt.Errorf("%s: %w", sides[i].name, err)
			}
			all[sides[i].name] = append(all[sides[i].name], o)
		}
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	fmt.Printf("%s to %s, load %.1f to %.1f\n\n", from.Format("2006-01-02 15:04"), time.Now().UTC().Format("15:04 MST"),
		first, target.LoadAverage())
	fmt.Print("| | p50, ms | p90, ms | p99, ms | p99.9, ms | sent of due |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, one := range sides {
		fmt.Printf("| %s |%s %s |\n", one.name, cells(all[one.name], all[truthName], one.name == truthName), met(all[one.name], seconds))
	}
	if svg != "" {
		return draw(svg, slices.DeleteFunc(sides[:own], func(one side) bool { return one.name == againName }), all)
	}
	return nil
}

// cells has the medians of all rounds, and their ratio to the truth of the same round.
func cells(of, truth []outcome, alone bool) (text string) {
	for _, p := range percentiles {
		var values, ratios []float64
		for round := range of {
			if ns, told := of[round].at(p); told {
				right, _ := truth[round].at(p)
				values, ratios = append(values, ns), append(ratios, ns/right)
			}
		}
		if len(values) == 0 {
			text += " not reported |"
			continue
		}
		text += fmt.Sprintf(" %.3f", estimate.Median(values)/1e6)
		if !alone {
			r, _ := estimate.MedianInterval(ratios, level)
			text += fmt.Sprintf(", %.3f [%.3f, %.3f]", r.Estimate, r.Low, r.High)
		}
		text += " |"
	}
	return text
}

// met tells what share of the rate was sent in the round with the least, where a side has a rate.
func met(of []outcome, seconds int) string {
	least := 1.0
	for _, o := range of {
		if o.sent == 0 {
			return ""
		}
		least = min(least, o.sent/float64(rate*seconds))
	}
	return fmt.Sprintf("%.2f %%", 100*least)
}

// draw merges the rounds of each side, and adds the raw latencies of the closed loop.
func draw(file string, sides []side, all map[string][]outcome) error {
	var laps []*lapplot.Laps
	add := func(name string, of func(outcome) *lap.Histogram, list []outcome) error {
		sum := of(list[0])
		for _, o := range list[1:] {
			if err := sum.Merge(of(o)); err != nil {
				return err
			}
		}
		laps = append(laps, lapplot.FromHistogram(name, sum))
		return nil
	}
	latency := func(o outcome) *lap.Histogram { return o.latency }
	for _, one := range sides {
		if err := add(one.name, latency, all[one.name]); err != nil {
			return err
		}
	}
	last := sides[len(sides)-1].name
	if err := add("closed loop, raw, 32 connections", func(o outcome) *lap.Histogram { return o.raw }, all[last]); err != nil {
		return err
	}
	chart := lapplot.Percentiles(laps...)
	chart.Y.Title, chart.Y.Scale = "latency", lapplot.Log
	chart.Title = fmt.Sprintf("A server that stands still for %d ms of every second", stall.Milliseconds())
	return (&lapplot.Figure{Charts: []*lapplot.Chart{chart}}).WriteFileAs(file, "svg")
}

// stalled runs a side while nginx's worker stands still for the first 200 ms of every second. The seconds are the
// clock's: a run of whole seconds has as many stalls, wherever in a second it begins.
func stalled(s *target.Server, run func() (outcome, error)) (outcome, error) {
	worker, err := s.Worker()
	if err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		next := time.Now().Truncate(time.Second).Add(time.Second)
		for ; pause(ctx, time.Until(next)); next = next.Add(time.Second) {
			syscall.Kill(worker, syscall.SIGSTOP)
			pause(ctx, time.Until(next.Add(stall)))
			syscall.Kill(worker, syscall.SIGCONT)
		}
	}()
	o, err := run()
	cancel()
	<-done
	return o, err
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
