package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// resumes compares how long runs of Lua took by `moonlap profile --resumes` with what the Lua itself measured, and then measures
// what the probe costs a worker: one worker, with a profiler and without, interleaved in random order.
func resumes(moonlap string, pairs int, length, whole time.Duration) error {
	s, err := startNginx(1)
	if err != nil {
		return err
	}
	defer s.stop()
	fmt.Println("| computed for | runs by Lua's count | runs timed | median by Lua's clock | median timed | more |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, wanted := range []time.Duration{5 * time.Microsecond, 20 * time.Microsecond, 100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond} {
		if err := s.known(moonlap, wanted, whole); err != nil {
			return err
		}
	}
	fmt.Println()
	const programs = 4 // two that every profile has; at entries, and at returns
	return s.compared(moonlap, "--resumes", []string{"1%", "100%"}, func(profiler int) error { return hasPrograms(profiler, programs) }, pairs, length)
}

// known has requests compute for so long in their phase access, one at a time, while they are timed.
func (s *server) known(moonlap string, wanted, whole time.Duration) error {
	path := fmt.Sprintf("/known?%d", wanted.Nanoseconds())
	warm, stop := context.WithTimeout(context.Background(), time.Second) // until it is compiled
	_, err := s.load(warm, path, 1)
	stop()
	if _, _, failed := s.noted(); err != nil || failed != nil {
		return fmt.Errorf("%s: %v, %w", path, failed, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	loaded := make(chan error)
	go func() { _, err := s.load(ctx, path, 1); loaded <- err }()
	p, err := s.profile(moonlap, "--resumes", "--budget", "100%", "--duration", whole.String())
	cancel()
	if failed := <-loaded; err != nil || failed != nil {
		return fmt.Errorf("%s: %v, %w", path, failed, err)
	}
	count, median, err := s.noted()
	if err != nil {
		return err
	}
	for _, f := range p.Evidence.Resumes.Phases {
		if f.Phase == "access" {
			fmt.Printf("| %v | %d | %d | %.2f µs | %.2f µs | %+.2f µs, %+.1f %% |\n", wanted, count, f.Own.Count, median/1e3, f.Own.Median/1e3,
				(f.Own.Median-median)/1e3, 100*(f.Own.Median/median-1))
		}
	}
	return nil
}

// noted is what the worker has measured itself since it was last asked: how many runs, and their median in ns.
func (s *server) noted() (count int, median float64, err error) {
	body, err := s.get("/noted")
	if err == nil {
		_, err = fmt.Sscan(strings.TrimSpace(body), &count, &median)
	}
	return count, median, err
}
