package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A mode is what a worker is looked at with.
type mode struct {
	flags  []string
	points int // tracepoints that the programs are at
}

// modes are those whose programs see every switch of the machine, or every system call: so there is no
// second worker that they cost nothing.
var modes = []mode{
	{[]string{"--off-cpu"}, 2},
	{[]string{"--wall"}, 2},
	{[]string{"--stalls", "50ms"}, 4},
}

// captureModes are those that run for days: what `moonlap watch --capture` costs while nothing happens.
var captureModes = []mode{
	{[]string{"watch", "--when", "sleep>10s", "--when", "held>10s", "--when", "heap>1GB", "--when", "ended"}, 2},
	{[]string{"watch", "--when", "request>1m"}, 2},
	{[]string{"watch", "--when", "turn>10s"}, 4},
}

// system measures what these modes cost a worker: one worker, with a profiler and without, interleaved in
// random order, for a moment each.
func system(moonlap string, modes []mode, pairs int, length time.Duration) error {
	s, err := startNginx(1)
	if err != nil {
		return err
	}
	defer s.stop()
	fmt.Printf("twice %d pairs of %v\n\n", pairs, length)
	fmt.Println("| load | mode | requests/s without | requests/s, ratio | CPU a request without | CPU a request, ratio |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, path := range paths {
		for _, mode := range modes {
			var both [2]block
			for i := range both {
				for range pairs {
					ready := func(profiler int) error { return pointed(profiler, mode.points) }
					if err := s.inTurn(moonlap, path, mode.flags, ready, length, &both[i]); err != nil {
						return err
					}
				}
			}
			rate := func(x slice) float64 { return x.rate }
			each := func(x slice) float64 { return x.each }
			fmt.Printf("| %s | `%s` | %.0f | %s | %.1f µs | %s |\n", path, strings.Join(mode.flags, " "), without(both, rate), ratio(both, rate),
				1e6*without(both, each), ratio(both, each))
		}
	}
	return nil
}

// inTurn adds a pair to the block; ready waits until a profiler looks.
func (s *server) inTurn(moonlap, path string, flags []string, ready func(profiler int) error, length time.Duration, b *block) error {
	plain := func() error {
		one, err := s.slice(path, length)
		b.plain = append(b.plain, one)
		return err
	}
	first := rand.IntN(2) == 0
	if first {
		if err := plain(); err != nil {
			return err
		}
	}
	profiler, err := s.profiler(moonlap, flags, ready)
	if profiler == nil {
		return err
	}
	if err == nil {
		var one slice
		one, err = s.slice(path, length)
		b.sampled = append(b.sampled, one)
	}
	profiler.Process.Signal(os.Interrupt)
	profiler.Wait()
	if err != nil || first {
		return err
	}
	return plain()
}

// profiler starts one with these flags, or another command of moonlap's that begins them; ready waits until it looks.
func (s *server) profiler(moonlap string, flags []string, ready func(profiler int) error) (*exec.Cmd, error) {
	p := exec.Command(moonlap, s.arguments(flags)...)
	if err := p.Start(); err != nil {
		return nil, err
	}
	return p, ready(p.Process.Pid)
}

func (s *server) arguments(flags []string) []string {
	worker := []string{"--pid", fmt.Sprint(s.worker), "--duration", "1h"}
	if flags[0] == "watch" {
		return slices.Concat(flags, worker, []string{"--capture", filepath.Join(s.folder, "captures")})
	}
	return slices.Concat([]string{"profile", "--by", "ebpf"}, worker, flags)
}

// pointed waits until a profiler has programs at N tracepoints.
func pointed(profiler, points int) error {
	for range 400 {
		time.Sleep(50 * time.Millisecond)
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", profiler))
		found := 0
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil && strings.Contains(string(b), "raw_tracepoint") {
				found++
			}
		}
		if found >= points {
			return nil
		}
	}
	return fmt.Errorf("the profiler is not at %d tracepoints after 20 s", points)
}
