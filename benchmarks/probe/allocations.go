package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// allocations measures what `moonlap profile --allocations` costs a worker: one worker, with a profiler and without, interleaved in
// random order. The probe is in the worker in windows alone, one in a quarter of a second, and keeps to its budget from when it
// is started on: so a slice is some seconds.
func allocations(moonlap string, pairs int, length time.Duration) error {
	s, err := startNginx(1)
	if err != nil {
		return err
	}
	defer s.stop()
	return s.compared(moonlap, "--allocations", []string{"1%", "5%"}, loaded, pairs, length)
}

// compared prints for each load and budget what a profiler with a kind of evidence costs, once it is ready.
func (s *server) compared(moonlap, kind string, budgets []string, ready func(profiler int) error, pairs int, length time.Duration) error {
	fmt.Printf("twice %d pairs of %v\n\n", pairs, length)
	fmt.Println("| load | budget | requests/s without | requests/s, ratio | CPU a request without | CPU a request, ratio |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, path := range paths {
		for _, budget := range budgets {
			var both [2]block
			for i := range both {
				for range pairs {
					if err := s.inTurn(moonlap, path, []string{kind, "--budget", budget}, ready, length, &both[i]); err != nil {
						return err
					}
				}
			}
			rate := func(x slice) float64 { return x.rate }
			each := func(x slice) float64 { return x.each }
			fmt.Printf("| %s | %s | %.0f | %s | %.1f µs | %s |\n", path, budget, without(both, rate), ratio(both, rate),
				1e6*without(both, each), ratio(both, each))
		}
	}
	return nil
}

// loaded waits until a profiler has loaded the program for allocations, beside the two that every profile has.
func loaded(profiler int) error { return hasPrograms(profiler, 3) }

func hasPrograms(profiler, programs int) error {
	for range 400 {
		time.Sleep(50 * time.Millisecond)
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", profiler))
		found := 0
		for _, file := range files {
			if to, err := os.Readlink(file); err == nil && strings.Contains(to, "bpf-prog") {
				found++
			}
		}
		if found >= programs {
			return nil
		}
	}
	return fmt.Errorf("the profiler has not loaded %d programs after 20 s", programs)
}
