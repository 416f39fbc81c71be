package laptest

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/moonlap/moonlap/lap"
)

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
	var laps []*lap.Benchmark // made before the timer runs
	untimed(l.b, func() {
		for range max(1, parallelism) * runtime.GOMAXPROCS(0) {
			laps = append(laps, lap.NewBenchmarkTSCFor(0))
		}
	})
	l.b.SetParallelism(parallelism)
	var goroutines atomic.Int64
	l.b.RunParallel(func(pb *testing.PB) {
		body(&PB{pb: pb, laps: laps[goroutines.Add(1)-1]})
	})
	untimed(l.b, func() { l.parallel = append(l.parallel, laps[:goroutines.Load()]...) })
}
