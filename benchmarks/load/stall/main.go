// Stall stops the server for 200 ms of every second and asks what the load engine says of it, in an open and in a closed
// loop, beside the open-loop truth of truth/truth.c:
//
//	make -C ../.. build && go run ./stall -rounds 6
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
	"syscall"
	"time"

	"github.com/moonlap/moonlap/benchmarks/load/target"
	"github.com/moonlap/moonlap/internal/stat"
)

const (
	level   = 0.95
	rate    = 2000
	sockets = 3000
)

var percentiles = []float64{50, 90, 99, 99.9}

// quantiles are those of percentiles, in ns.
type quantiles [4]float64

func main() {
	rounds := flag.Int("rounds", 6, "rounds; in each, every side runs once")
	seconds := flag.Int("seconds", 10, "length of one run")
	flag.Parse()
	if *rounds < stat.LeastForMedian(level) {
		fmt.Fprintf(os.Stderr, "stall: -rounds: a 95 %% interval needs at least %d\n", stat.LeastForMedian(level))
		os.Exit(2)
	}
	if err := run(*rounds, *seconds); err != nil {
		fmt.Fprintln(os.Stderr, "stall:", err)
		os.Exit(1)
	}
}

func run(rounds, seconds int) error {
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
		{"truth", func() (quantiles, error) { return runTruth(truth, s, seconds) }},
		{"open loop, 2000 a second, 32 connections", func() (quantiles, error) {
			return runEngine(s, fmt.Sprintf("rate=%d, connections=32, duration_ns=%de9", rate, seconds))
		}},
		{"closed loop, corrected, 32 connections", func() (quantiles, error) {
			return runEngine(s, fmt.Sprintf("connections=32, duration_ns=%de9", seconds))
		}},
	}
	from, first := time.Now().UTC(), target.LoadAverage()
	all := map[string][]quantiles{}
	for round := range rounds {
		for _, i := range rand.Perm(len(sides)) {
			fmt.Fprintf(os.Stderr, "\r\033[Kround %d of %d: %s", round+1, rounds, sides[i].name)
			q, err := stalled(s, sides[i].run)
			if err != nil {
				return fmt.Errorf("%s: %w", sides[i].name, err)
			}
			all[sides[i].name] = append(all[sides[i].name], q)
		}
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	fmt.Printf("%s to %s, load %.1f to %.1f\n\n", from.Format("2006-01-02 15:04"), time.Now().UTC().Format("15:04 MST"),
		first, target.LoadAverage())
	fmt.Print("| | p50, ms | p90, ms | p99, ms | p99.9, ms |\n| --- | --- | --- | --- | --- |\n")
	for _, one := range sides {
		fmt.Printf("| %s |%s\n", one.name, cells(all[one.name], all["truth"], one.name == "truth"))
	}
	return nil
}

// cells has the medians of all rounds, and their ratio to the truth of the same round.
func cells(of, truth []quantiles, alone bool) (text string) {
	for i := range percentiles {
		var values, ratios []float64
		for round := range of {
			values = append(values, of[round][i])
			ratios = append(ratios, of[round][i]/truth[round][i])
		}
		text += fmt.Sprintf(" %.3f", stat.Median(values)/1e6)
		if !alone {
			r, _ := stat.MedianInterval(ratios, level)
			text += fmt.Sprintf(", %.3f [%.3f, %.3f]", r.Estimate, r.Low, r.High)
		}
		text += " |"
	}
	return text
}

// stalled runs a side while nginx's worker stands still for 200 ms of every second.
func stalled(s *target.Server, run func() (quantiles, error)) (quantiles, error) {
	worker, err := s.Worker()
	if err != nil {
		return quantiles{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause(ctx, 800*time.Millisecond) {
			syscall.Kill(worker, syscall.SIGSTOP)
			pause(ctx, 200*time.Millisecond)
			syscall.Kill(worker, syscall.SIGCONT)
		}
	}()
	q, err := run()
	cancel()
	<-done
	return q, err
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
