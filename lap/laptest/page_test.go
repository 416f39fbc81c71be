package laptest_test

import (
	"testing"

	"github.com/moonlap/moonlap/lap/laptest"
)

// The code of docs/reference/lap.md as it stands there; a test of internal/docs compares.

func TestBenchmarksOfThePage(t *testing.T) {
	for name, f := range map[string]func(*testing.B){
		"b.Loop": BenchmarkWork,
		"parallel": func(b *testing.B) {
			laptest.NewBenchmark(b).RunParallel(1, func(pb *laptest.PB) {
				for pb.Next() {
					work()
				}
			})
		},
	} {
		if r := run(t, 100, f); r.Extra["ns/p50"] <= 0 {
			t.Errorf("%s: %v", name, r)
		}
	}
}

func BenchmarkWork(b *testing.B) {
	laps := laptest.NewBenchmark(b)
	for b.Loop() {
		laps.Lap()
		work()
	}
}

func work() { allocate(1) }
