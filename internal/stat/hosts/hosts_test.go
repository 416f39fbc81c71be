package hosts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/aclements/go-moremath/stats"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

func on(host string, low, estimated, high float64, verdict string) record.OnHost {
	return record.OnHost{Host: host, Comparison: record.Comparison{
		A: "a", B: "b", Ratio: record.Interval{Estimate: estimated, Low: low, High: high}, Verdict: verdict,
	}}
}

// TestModel checks the model against the 13 trials of a vaccine that Viechtbauer, J. Stat. Softw. 36 (3), 2010,
// prints: Q = 152.233, and Paule and Mandel's variance between them, 0.318.
func TestModel(t *testing.T) {
	shift := []float64{-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209, 0.0120, -0.4694, -1.3713, -0.3394, 0.4459, -0.0173}
	variance := []float64{0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230, 0.0040, 0.0564, 0.0730, 0.0124, 0.5325, 0.0714}
	if _, _, q := weigh(shift, variance, 0); math.Abs(q-152.2) > 1 { // the inputs are rounded
		t.Errorf("Q = %.3f, want about 152.2", q)
	}
	between := betweenHosts(shift, variance)
	if math.Abs(between-0.318) > 0.001 {
		t.Errorf("variance between = %.4f, want 0.318", between)
	}
	if mean, _, _ := weigh(shift, variance, between); math.Abs(mean+0.715) > 0.001 {
		t.Errorf("mean = %.4f, want -0.715", mean)
	}
}

func TestVerdicts(t *testing.T) {
	faster := []record.OnHost{
		on("x", 0.94, 0.95, 0.96, record.Faster), on("y", 0.945, 0.952, 0.96, record.Faster), on("z", 0.939, 0.949, 0.959, record.Faster),
	}
	slower := on("w", 1.04, 1.05, 1.06, record.Slower)
	none := on("v", 0, 0.9, 0, record.Undecided)
	tests := []struct {
		name          string
		hosts         []record.OnHost
		verdict, here string
		warning       string
	}{
		{"agree", faster, record.Faster, record.Faster, ""},
		{"one differs", append(faster[:2:2], slower), record.Undecided, record.Mixed, ""},
		{"two agree", []record.OnHost{on("x", 0.93, 0.95, 0.97, record.Faster), on("y", 0.93, 0.95, 0.97, record.Faster)}, record.Undecided, record.Faster, "few_hosts"},
		{"one", faster[:1], record.Undecided, record.Faster, "one_host"},
		{"none", nil, record.Undecided, record.Undecided, ""},
		{"one without interval", append(faster[:3:3], none), record.Faster, record.Faster, "host_left_out"},
		{"none with interval", []record.OnHost{none}, record.Undecided, record.Undecided, "host_left_out"},
		{"equal", []record.OnHost{
			on("x", 0.998, 1, 1.002, record.NoDifference), on("y", 0.997, 1, 1.002, record.NoDifference), on("z", 0.999, 1.001, 1.003, record.NoDifference),
		}, record.NoDifference, record.NoDifference, ""},
	}
	for _, test := range tests {
		c := Compare(test.hosts, 0.01)
		if c.Verdict != test.verdict || c.Here != test.here {
			t.Errorf("%s: %s, here %s; want %s, %s", test.name, c.Verdict, c.Here, test.verdict, test.here)
		}
		if got := len(c.Warnings) > 0 && c.Warnings[0].Code == test.warning; got != (test.warning != "") {
			t.Errorf("%s: warnings %v, want %q", test.name, c.Warnings, test.warning)
		}
	}
}

func ratioOf(shift record.Interval) record.Interval {
	return record.Interval{Estimate: math.Exp(shift.Estimate), Low: math.Exp(shift.Low), High: math.Exp(shift.High)}
}

// TestPlanted has hosts whose true ratios differ by a planted standard deviation, and pairs of processes with noise of
// 3 % on each. The interval over hosts holds the true mean as often as it says, and cries wolf no more often than it
// may; all pairs in one heap, as they are pooled without the model, do neither.
func TestPlanted(t *testing.T) {
	const pairs, noise = 12, 0.03
	runs := 400
	if os.Getenv("MOONLAP_TEST_LONG") != "" {
		runs = 40_000
	}
	rng := rand.New(rand.NewPCG(1, 2))
	reach := stats.InvCDF(stats.TDist{V: pairs - 1})((1 + estimate.Level) / 2)
	for _, count := range []int{2, 3, 4, 8} {
		for _, planted := range []float64{0, 0.05, 0.1, 0.3} {
			t.Run(fmt.Sprintf("%d hosts, %g", count, planted), func(t *testing.T) {
				held, heap, alarms, heapAlarms := 0, 0, 0, 0
				for range runs {
					found := make([]record.OnHost, count)
					var all []float64
					for i := range found {
						effect := planted * rng.NormFloat64()
						xs := make([]float64, pairs)
						for j := range xs {
							xs[j] = effect + noise*rng.NormFloat64()
						}
						all = append(all, xs...)
						mean, arm := estimate.Mean(xs), reach*estimate.Deviation(xs)/math.Sqrt(pairs)
						found[i] = on(fmt.Sprint(i), math.Exp(mean-arm), math.Exp(mean), math.Exp(mean+arm), record.Undecided)
					}
					c := Compare(found, 0.01)
					if c.Ratio.Low <= 1 && 1 <= c.Ratio.High {
						held++
					}
					if c.Verdict == record.Faster || c.Verdict == record.Slower {
						alarms++
					}
					if iv := estimate.MeanInterval(all); iv.Low <= 0 && 0 <= iv.High {
						heap++
					}
					if v := judge(ratioOf(estimate.MeanInterval(all)), 0.01); v == record.Faster || v == record.Slower {
						heapAlarms++
					}
				}
				share := func(n int) float64 { return 100 * float64(n) / float64(runs) }
				t.Logf("holds the truth in %.1f %%, all pairs in one heap in %.1f %%; false alarms %.1f %%, in one heap %.1f %%",
					share(held), share(heap), share(alarms), share(heapAlarms))
				if low := estimate.Share(alarms, runs).Low; low > 0.05 {
					t.Errorf("%d false alarms in %d runs, more than 5 %%", alarms, runs)
				}
				if low := estimate.Share(held, runs).High; low < 0.95 {
					t.Errorf("the interval holds the truth in %d of %d runs, fewer than 95 %%", held, runs)
				}
				if planted >= 0.1 && heap > held {
					t.Errorf("one heap holds it more often: %d, not %d", heap, held)
				}
			})
		}
	}
}
