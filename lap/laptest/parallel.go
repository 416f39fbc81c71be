package laptest

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/moonlap/moonlap/lap"
)

// parallel holds a lap.Benchmark for each goroutine, made before the timer runs.
type parallel struct {
	laps  []*lap.Benchmark
	taken atomic.Int64
}

func (p *parallel) used() []*lap.Benchmark {
	return p.laps[:min(int(p.taken.Load()), len(p.laps))]
}

// A PB is testing.PB with laps.
type PB struct {
	pb   *testing.PB
	laps *lap.Benchmark
}

// Next ends this goroutine's lap and starts another, while iterations are left.
func (p *PB) Next() bool {
	p.laps.Next()
	return p.pb.Next()
}

// RunParallel is b.RunParallel, with laps in each goroutine. As parallelism give what
// b.SetParallelism would be given, normally 1: goroutines for each of GOMAXPROCS.
func (l *Benchmark) RunParallel(parallelism int, body func(*PB)) {
	parallelism = max(1, parallelism)
	untimed(l.b, func() {
		l.parallel = &parallel{}
		for range parallelism * runtime.GOMAXPROCS(0) {
			l.parallel.laps = append(l.parallel.laps, lap.NewBenchmarkTSCFor(0))
		}
	})
	l.b.SetParallelism(parallelism)
	l.b.RunParallel(func(pb *testing.PB) {
		g := l.parallel.taken.Add(1) - 1
		body(&PB{pb: pb, laps: l.parallel.laps[g]})
	})
}
