package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

// Intervals at 95 % must hold the true location in 93 % of runs or more, whatever the
// noise between processes.
func TestCoverageOverProcesses(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, c := range []struct {
		name  string
		draw  func() float64
		truth float64 // the median of draw
	}{
		{"normal", func() float64 { return 10 + rng.NormFloat64() }, 10},
		{"lognormal", func() float64 { return 10 * math.Exp(0.5*rng.NormFloat64()) }, 10},
		{"exponential tail", func() float64 { return 10 + rng.ExpFloat64() }, 10 + math.Ln2},
		{"heavy tail (t with 2 degrees)", func() float64 {
			return 10 + rng.NormFloat64()/math.Sqrt(rng.ExpFloat64())
		}, 10},
		{"contaminated", func() float64 {
			if rng.Float64() < 0.1 {
				return 10 + 5*rng.NormFloat64()
			}
			return 10 + 0.1*rng.NormFloat64()
		}, 10},
	} {
		for _, n := range []int{8, 11, 15, 20, 30} {
			const runs = 2000
			hits := 0
			xs := make([]float64, n)
			for range runs {
				for i := range xs {
					xs[i] = c.draw()
				}
				if iv, _ := estimate.MedianInterval(xs, 0.95); iv.Low <= c.truth && c.truth <= iv.High {
					hits++
				}
			}
			checkCoverage(t, c.name, n, hits, runs)
		}
	}
}

func checkCoverage(t *testing.T, name string, n, hits, runs int) {
	t.Helper()
	rate := float64(hits) / float64(runs)
	t.Logf("%-30s %2d processes: %.1f %% covered", name, n, 100*rate)
	if rate < 0.93 {
		t.Errorf("%s, %d processes: only %.1f %% covered", name, n, 100*rate)
	}
}

// The same end to end, from batches to the figure of a case: batches that are
// autocorrelated and disturbed, processes that differ, and a slow mode beside the main
// one, whose location is the truth.
func TestCoverageOfSummaries(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(13, 14))
	const between, loop = 0.02, 1.0
	for _, c := range []struct {
		name  string
		slow  float64 // share of processes in a mode 40 % slower
		noise func(n int) []float64
	}{
		{"quiet batches", 0, func(n int) []float64 { return stattest.Machines[0].Noise(rng, n) }},
		{"autocorrelated batches", 0, func(n int) []float64 {
			x := 0.0
			return stattest.Each(n, func(int) float64 { x = 0.9*x + 0.005*rng.NormFloat64(); return 1 + x })
		}},
		{"heavy-tailed batches", 0, func(n int) []float64 {
			return stattest.Each(n, func(int) float64 { return 1 + 0.005*rng.NormFloat64()/math.Sqrt(rng.ExpFloat64()) })
		}},
		{"two modes", 0.2, func(n int) []float64 { return stattest.Machines[0].Noise(rng, n) }},
	} {
		for _, n := range []int{8, 15, 30} {
			const most = 200
			hits, runs := 0, 0
			for runs < most {
				rec := newRecord()
				slow := 0
				for range n {
					level := 10 * (1 + between*rng.NormFloat64())
					isSlow := rng.Float64() < c.slow
					if isSlow {
						slow++
						level *= 1.4
					}
					noise := c.noise(40)
					for i := range noise {
						noise[i] = level*noise[i] + loop
					}
					p := add(rec, batches(record.Measure, noise...), batches(record.Empty, loop, loop, loop))
					if isSlow {
						addTrace(p)
					}
				}
				if c.slow > 0 && (slow == 1 || 3*slow > n) { // one may be missed, and near half either may be the larger
					continue
				}
				runs++
				d := Summarize(rec).Cases[0].NSPerCall
				if d == nil {
					t.Fatalf("%s, %d processes: no figure", c.name, n)
				}
				if d.Low <= 10 && 10 <= d.High {
					hits++
				}
			}
			rate := float64(hits) / float64(runs)
			t.Logf("%-25s %2d processes: %.1f %% covered", c.name, n, 100*rate)
			if rate < 0.93-math.Sqrt(0.93*0.07/most) { // a standard error of the simulation
				t.Errorf("%s, %d processes: only %.1f %% covered", c.name, n, 100*rate)
			}
		}
	}
}

// The ratio of a case to itself excludes 1 in at most 5 % of comparisons, and the
// ratio of different ones covers the truth.
func TestCoverageOfRatios(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(15, 16))
	for _, c := range []struct {
		name string
		draw func() float64
	}{
		{"normal", func() float64 { return 10 * (1 + 0.03*rng.NormFloat64()) }},
		{"lognormal", func() float64 { return 10 * math.Exp(0.3*rng.NormFloat64()) }},
		{"busy", func() float64 { return 10 * (1 + 0.01*rng.NormFloat64() + stattest.Disturbed(rng, 0.3, 0.5)) }},
	} {
		for _, n := range []int{8, 15, 30} {
			const runs, truth = 600, 1.05
			hits := 0
			a, b := make([]float64, n), make([]float64, n)
			for range runs {
				for i := range a {
					a[i], b[i] = c.draw(), truth*c.draw()
				}
				iv, _, err := estimate.RatioInterval(a, b, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				if iv.Low <= truth && truth <= iv.High {
					hits++
				}
			}
			checkCoverage(t, "ratio, "+c.name, n, hits, runs)
		}
	}
}
