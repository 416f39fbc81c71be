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
	var of *goroutines
	untimed(l.b, func() { of = newGoroutines(max(1, parallelism)*runtime.GOMAXPROCS(0), body) })
	l.b.SetParallelism(parallelism)
	l.b.RunParallel(of.run)
	untimed(l.b, func() {
		for _, p := range of.each[:of.begun.Load()] {
			l.parallel = append(l.parallel, p.laps)
		}
	})
}

// goroutines are those of a RunParallel, with all that they need made before the timer
// runs.
type goroutines struct {
	each  []PB
	begun atomic.Int64
	run   func(*testing.PB)
}

func newGoroutines(n int, body func(*PB)) *goroutines {
	g := &goroutines{each: make([]PB, n)}
	for i := range g.each {
		g.each[i].laps = lap.NewBenchmarkTSCFor(0).Fenced()
	}
	g.run = func(pb *testing.PB) {
		p := &g.each[g.begun.Add(1)-1]
		p.pb = pb
		body(p)
	}
	return g
}
