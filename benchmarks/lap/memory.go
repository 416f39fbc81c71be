package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/loov/hrtime"
	"github.com/moonlap/moonlap/lap"
)

// memory prints what a million laps, spans and values allocate; the constant part, of one
// that times a single lap, apart.
func memory() {
	const many = 1_000_000
	fmt.Printf("%-20s %14s %14s %18s\n", "Allocated:", "constant bytes", "bytes a lap", "allocations a lap")
	for _, w := range []struct {
		name string
		run  func(n int)
	}{
		{"lap", func(n int) {
			b := lap.NewBenchmark(n)
			for b.Next() {
			}
		}},
		{"hrtime", func(n int) {
			b := hrtime.NewBenchmark(n)
			for b.Next() {
			}
		}},
		{"span", func(n int) {
			s := lap.NewStopwatch(1)
			for range n {
				_ = s.Stop(s.Start())
			}
		}},
		{"hrtime span", func(n int) {
			s := hrtime.NewStopwatch(n)
			for range n {
				s.Stop(s.Start())
			}
		}},
		{"lap.Histogram", func(n int) {
			h := lap.NewHistogram()
			for i := range n {
				h.Record(time.Duration(i))
			}
		}},
	} {
		bytes, allocations := allocated(func() { w.run(1) })
		moreBytes, moreAllocations := allocated(func() { w.run(many) })
		fmt.Printf("%-20s %14.0f %14.3f %18.6f\n", w.name, bytes,
			(moreBytes-bytes)/(many-1), (moreAllocations-allocations)/(many-1))
	}
}

// allocated counts what f allocates: bytes, and objects. The runtime's own are in it, a few
// objects at most.
func allocated(f func()) (bytes, objects float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc), float64(after.Mallocs - before.Mallocs)
}
