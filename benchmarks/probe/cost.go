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
)

// A slice is the load under one way of sampling: requests, and the worker's CPU time.
type slice struct {
	rate float64 // requests a second
	each float64 // CPU seconds a request
}

// attachedOnly is a rate so low that there is a profiler, and no look.
const attachedOnly = 0.001

// cost measures what sampling costs the worker: slices of the load without a profiler, with one that does
// not look, and with 99 and 999 looks a second take turns in random order in each round, and are compared
// with the one without.
func cost(moonlap string, rounds int, length time.Duration) error {
	s, err := startNginx()
	if err != nil {
		return err
	}
	defer s.stop()
	fmt.Printf("%d rounds of %v\n\n", rounds, length)
	fmt.Println("| load | looks a second | requests/s without | requests/s, ratio | CPU a request without | CPU a request, ratio |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, path := range paths {
		rates := []float64{0, attachedOnly, 99, 999}
		seen := map[float64][]slice{}
		for range rounds {
			order := slices.Clone(rates)
			rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for _, hz := range order {
				one, err := s.slice(moonlap, path, hz, length)
				if err != nil {
					return err
				}
				seen[hz] = append(seen[hz], one)
			}
		}
		rate := func(x slice) float64 { return x.rate }
		each := func(x slice) float64 { return x.each }
		for _, hz := range rates[1:] {
			fmt.Printf("| %s | %.3g | %.0f | %s | %.1f µs | %s |\n", path, hz, median(values(seen[0], rate)),
				ratio(values(seen[hz], rate), values(seen[0], rate)), 1e6*median(values(seen[0], each)),
				ratio(values(seen[hz], each), values(seen[0], each)))
		}
	}
	return nil
}

func (s *server) slice(moonlap, path string, hz float64, length time.Duration) (slice, error) {
	if hz > 0 {
		profiler := exec.Command(moonlap, "profile", "--by", "ebpf", "--pid", fmt.Sprint(s.worker), "--hz", fmt.Sprint(hz),
			"--duration", "10m")
		if err := profiler.Start(); err != nil {
			return slice{}, err
		}
		defer profiler.Wait()
		defer profiler.Process.Signal(os.Interrupt)
		if err := attached(profiler.Process.Pid); err != nil {
			return slice{}, err
		}
	}
	const lead = 300 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), lead)
	defer cancel()
	if _, err := s.load(ctx, path, connections); err != nil {
		return slice{}, err
	}
	ctx, cancel = context.WithTimeout(context.Background(), length)
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

func values(all []slice, of func(slice) float64) []float64 {
	var list []float64
	for _, x := range all {
		list = append(list, of(x))
	}
	return list
}

func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// ratio is the median of the rounds' ratios, with an interval of order statistics at 95 % at least.
func ratio(list, base []float64) string {
	ratios := make([]float64, len(list))
	for i := range list {
		ratios[i] = list[i] / base[i]
	}
	slices.Sort(ratios)
	n, k := len(ratios), 0
	tail := math.Pow(0.5, float64(n)) // probability that k or fewer of n lie below the median
	for term := tail; ; k++ {
		term *= float64(n-k) / float64(k+1)
		if tail+term > 0.025 {
			break
		}
		tail += term
	}
	return fmt.Sprintf("%.3f (%.3f–%.3f)", median(ratios), ratios[k], ratios[n-1-k])
}
