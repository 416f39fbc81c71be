package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/moonlap/moonlap/benchmarks/outcomes"
)

// duty is the part of the time in which the worker is under load, so that it uses about a third of a processor.
const duty, slot = 3, 30 * time.Millisecond

// parts is how many rows the table of flat has.
const parts = 10

// flat watches the profiler itself for a while: its CPU time and memory, which may not grow with time.
func flat(moonlap, path string, flags []string, length time.Duration) error {
	s, err := startNginx(1)
	if err != nil {
		return err
	}
	defer s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	loaded := make(chan error, 1)
	go func() { loaded <- s.inParts(ctx, path) }()
	profiler := exec.Command(moonlap, s.arguments(flags)...)
	var said bytes.Buffer
	profiler.Stdout = &said
	if err := profiler.Start(); err != nil {
		return err
	}
	defer func() { profiler.Process.Kill(); profiler.Wait() }()
	if err := attached(profiler.Process.Pid); err != nil {
		return err
	}
	fmt.Printf("%s, `%s`, %v, load of the machine %.1f\n\n", path, strings.Join(flags, " "), length, outcomes.Load())
	fmt.Println("| after | the profiler's CPU time | of a processor | its memory | the worker's CPU time |")
	fmt.Println("| --- | --- | --- | --- | --- |")
	var cpu, worker time.Duration
	for n := range parts + 1 {
		now, memory, err := usage(profiler.Process.Pid)
		if err != nil {
			return err
		}
		used, err := s.cpu()
		if err != nil {
			return err
		}
		if n > 0 {
			part := (length / parts).Seconds()
			fmt.Printf("| %v | %.2f s | %.2f %% | %.1f MB | %.1f s |\n", length/parts*time.Duration(n), (now - cpu).Seconds(),
				100*(now-cpu).Seconds()/part, float64(memory)/1e6, (used - worker).Seconds())
		}
		if cpu, worker = now, used; n < parts {
			time.Sleep(length / parts)
		}
	}
	cancel()
	if err := <-loaded; err != nil {
		return err
	}
	profiler.Process.Signal(os.Interrupt)
	profiler.Wait()
	if said.Len() > 0 {
		fmt.Println("\nThe profiler's own summary:")
	}
	for line := range strings.Lines(said.String()) {
		if strings.TrimSpace(line) == "" {
			break
		}
		fmt.Print("\n    ", strings.TrimRight(line, "\n"))
	}
	fmt.Println()
	return nil
}

// inParts puts the worker under load for a part of the time, until the context ends.
func (s *server) inParts(ctx context.Context, path string) error {
	for ctx.Err() == nil {
		during, cancel := context.WithTimeout(ctx, slot/duty)
		_, err := s.load(during, path, 1)
		cancel()
		if err != nil {
			return err
		}
		time.Sleep(slot - slot/duty)
	}
	return nil
}

// usage is the CPU time that a process has used, and its memory in bytes.
func usage(pid int) (time.Duration, int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ") // behind its name
	fields := strings.Fields(rest)
	const user, system, pages, tick = 11, 12, 21, 10 * time.Millisecond // proc_pid_stat(5); USER_HZ is 100
	var u, k, resident int64
	for at, to := range map[int]*int64{user: &u, system: &k, pages: &resident} {
		if _, err := fmt.Sscan(fields[at], to); err != nil {
			return 0, 0, err
		}
	}
	return time.Duration(u+k) * tick, resident * int64(os.Getpagesize()), nil
}
