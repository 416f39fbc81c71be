package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/benchmarks/outcomes"
)

// A slice is the load under one way of sampling: requests, and the worker's CPU time.
type slice struct {
	rate float64 // requests a second
	each float64 // CPU seconds a request
}

// attachedOnly is a rate so low that there is a profiler, and no look.
const attachedOnly = 0.001

// cost measures what sampling costs a worker. There are two, under the same load interleaved, in random order,
// for a moment each: one is sampled, the other is not. After N pairs of moments they change places,
// so that a difference between the two cancels out.
func cost(moonlap string, pairs int, length time.Duration) error {
	var servers [2]*server
	for i := range servers {
		s, err := startNginx(1)
		if err != nil {
			return err
		}
		defer s.stop()
		servers[i] = s
	}
	fmt.Printf("%d pairs of %v with each worker\n\n", pairs, length)
	fmt.Println("| load | looks a second | requests/s without | requests/s, ratio | CPU a request without | CPU a request, ratio |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, path := range paths {
		for _, hz := range []float64{attachedOnly, 99, 999} {
			var both [2]block
			for i, sampled := range servers {
				var err error
				if both[i], err = measure(moonlap, sampled, servers[1-i], path, hz, pairs, length); err != nil {
					return err
				}
			}
			rate := func(x slice) float64 { return x.rate }
			each := func(x slice) float64 { return x.each }
			fmt.Printf("| %s | %.3g | %.0f | %s | %.1f µs | %s |\n", path, hz, without(both, rate), ratio(both, rate),
				1e6*without(both, each), ratio(both, each))
		}
	}
	return nil
}

// A block is pairs of slices, with sampling and without.
type block struct{ sampled, plain []slice }

func measure(moonlap string, sampled, plain *server, path string, hz float64, pairs int, length time.Duration) (block, error) {
	var b block
	profiler := exec.Command(moonlap, "profile", "--by", "ebpf", "--pid", fmt.Sprint(sampled.worker), "--hz", fmt.Sprint(hz),
		"--duration", "1h")
	if err := profiler.Start(); err != nil {
		return b, err
	}
	defer profiler.Wait()
	defer profiler.Process.Signal(os.Interrupt)
	if err := attached(profiler.Process.Pid); err != nil {
		return b, err
	}
	for n := range pairs + 1 {
		order := []*server{sampled, plain}
		if rand.IntN(2) == 0 {
			slices.Reverse(order)
		}
		for _, s := range order {
			one, err := s.slice(path, length)
			switch {
			case err != nil:
				return b, err
			case n == 0: // until traces are compiled
			case s == sampled:
				b.sampled = append(b.sampled, one)
			default:
				b.plain = append(b.plain, one)
			}
		}
	}
	return b, nil
}

func (s *server) slice(path string, length time.Duration) (slice, error) {
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	start := time.Now()
	before, err := s.cpu()
	if err != nil {
		return slice{}, err
	}
	answers, err := s.load(ctx, path, connections)
	if err != nil {
		return slice{}, err
	}
	took := time.Since(start)
	after, err := s.cpu()
	return slice{float64(answers) / took.Seconds(), (after - before).Seconds() / float64(answers)}, err
}

// attached waits until a profiler has done what it does before its first look: a program is attached to
// the worker's clock then. A first, passing one is to itself.
func attached(profiler int) error {
	const lasting = 5
	for seen, tries := 0, 0; seen < lasting; tries++ {
		time.Sleep(50 * time.Millisecond)
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", profiler))
		if err != nil || tries > 400 {
			return fmt.Errorf("the profiler is not attached: %w", err)
		}
		seen++
		if !slices.ContainsFunc(files, func(file string) bool {
			to, _ := os.Readlink(file)
			return strings.Contains(to, "perf_event")
		}) {
			seen = 0
		}
	}
	return nil
}

// without is the median of the slices without sampling.
func without(both [2]block, of func(slice) float64) float64 {
	var all []float64
	for _, b := range both {
		for _, x := range b.plain {
			all = append(all, of(x))
		}
	}
	return outcomes.Median(all)
}

// ratio is the median of the ratios of sampled to plain, each the geometric mean of a pair with the one
// worker sampled and a pair with the other, and an interval of order statistics at 95 % at least.
func ratio(both [2]block, of func(slice) float64) string {
	var all []float64
	for i := range both[0].sampled {
		product := 1.0
		for _, b := range both {
			product *= of(b.sampled[i]) / of(b.plain[i])
		}
		all = append(all, math.Sqrt(product))
	}
	slices.Sort(all)
	n, k := len(all), 0
	tail := math.Pow(0.5, float64(n)) // probability that k or fewer of n lie below the median
	for term := tail; ; k++ {
		term *= float64(n-k) / float64(k+1)
		if tail+term > 0.025 {
			break
		}
		tail += term
	}
	return fmt.Sprintf("%.3f (%.3f–%.3f)", outcomes.Median(all), all[k], all[n-1-k])
}
