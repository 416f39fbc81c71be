package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"
	"time"
)

// calls measures what these modes cost every system call of the machine: the cheapest there is, of this program, which nobody
// looks at. The shortest of many batches is what it costs where nothing comes in between; the modes take turns.
func calls(moonlap string) error {
	const turns = 5
	s, err := startNginx(1)
	if err != nil {
		return err
	}
	defer s.stop()
	plain, least := math.Inf(1), make([]float64, len(modes))
	for turn := range turns {
		plain = min(plain, oneCall())
		for i, mode := range modes {
			profiler, err := s.profiler(moonlap, mode.flags, func(profiler int) error { return pointed(profiler, mode.points) })
			if profiler == nil {
				return err
			}
			if one := oneCall(); turn == 0 || one < least[i] {
				least[i] = one
			}
			profiler.Process.Signal(os.Interrupt)
			profiler.Wait()
			if err != nil {
				return err
			}
		}
	}
	fmt.Println("| mode | a system call, at least | more than without |")
	fmt.Println("| --- | --- | --- |")
	fmt.Printf("| without | %.0f ns | |\n", plain)
	for i, mode := range modes {
		fmt.Printf("| `%s` | %.0f ns | %.0f ns |\n", strings.Join(mode.flags, " "), least[i], least[i]-plain)
	}
	return nil
}

// oneCall is the ns that getppid takes, by the shortest of many batches.
func oneCall() float64 {
	const batches, each = 2000, 500
	least := time.Duration(math.MaxInt64)
	for range batches {
		start := time.Now()
		for range each {
			syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
		}
		least = min(least, time.Since(start))
	}
	return float64(least.Nanoseconds()) / each
}
