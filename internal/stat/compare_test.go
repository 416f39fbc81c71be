package stat

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

// unpaired is how two runs are compared.
var unpaired = Comparing{Level: estimate.Level, Margin: estimate.DefaultMargin}

func result(name string, locations ...float64) record.CaseResult {
	c := record.CaseResult{Name: name, NSPerCall: &record.Distribution{}}
	for i, ns := range locations {
		c.PerProcess = append(c.PerProcess, record.ProcessResult{Process: i, NS: ns, Steady: record.SteadyFlat})
	}
	return c
}

func TestCompareVerdicts(t *testing.T) {
	slower := result("five of eight unsteady", stattest.Around(8, 20)...)
	for i := range 5 {
		slower.PerProcess[i].Steady = record.SteadyNone
	}
	none := result("no figure")
	none.NSPerCall = nil
	res := &record.Results{Cases: []record.CaseResult{
		result("base", stattest.Around(10, 20)...), result("same", stattest.Around(10, 20.02)...), result("slower", stattest.Around(10, 21)...),
		result("a little slower", stattest.Around(10, 20.08)...), result("wide", 14, 16, 18, 20, 22, 24, 26, 28),
		result("few", 25, 26, 27), result("zero", stattest.Around(10, 0)...), slower, none,
	}}
	for _, c := range []struct{ a, b, verdict, warning string }{
		{"base", "same", record.NoDifference, ""},
		{"base", "slower", record.Slower, ""},
		{"slower", "base", record.Faster, ""},
		{"base", "a little slower", record.NoDifference, ""},
		{"base", "wide", record.Undecided, ""},
		{"base", "few", record.Slower, ""},
		{"few", "few", record.Undecided, "few_processes"},
		{"base", "zero", record.Undecided, "at_zero"},
		{"base", "no figure", record.Undecided, "no_figure"},
		{"five of eight unsteady", "five of eight unsteady", record.Undecided, "few_processes"},
	} {
		got := compareLocations(steadyLocations(caseNamed(res, c.a)), steadyLocations(caseNamed(res, c.b)), unpaired)
		if got.Verdict != c.verdict {
			t.Errorf("%s to %s: %s, want %s (%+v)", c.b, c.a, got.Verdict, c.verdict, got)
		}
		if ws := stattest.Codes(got.Warnings); c.warning != "" && !slices.Contains(ws, c.warning) || c.warning == "" && len(ws) > 0 {
			t.Errorf("%s to %s: warnings %v, want %q", c.b, c.a, ws, c.warning)
		}
	}
}

func TestMarginDecides(t *testing.T) {
	a, b := stattest.Around(10, 20), stattest.Around(10, 20.14)
	if got := compareLocations(a, b, Comparing{Level: estimate.Level, Margin: 0.001}); got.Verdict != record.Slower {
		t.Errorf("0.7 %% with a margin of 0.1 %%: %+v", got)
	}
}

// A higher level makes the interval wider, and the smallest difference that could have been
// seen with it.
func TestLevelWidens(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	noisy := func() []float64 { return stattest.Each(20, func(int) float64 { return 20 + rng.NormFloat64() }) }
	x, y := noisy(), noisy()
	a, b := compareLocations(x, y, unpaired), compareLocations(x, y, Comparing{Level: 0.99, Margin: 0.01})
	if b.Ratio.Low >= a.Ratio.Low || b.Ratio.High <= a.Ratio.High || b.Smallest <= a.Smallest || b.Ratio.Estimate != a.Ratio.Estimate {
		t.Errorf("at 95 %% %+v, at 99 %% %+v", a, b)
	}
}

// An A/A comparison calls a difference in 5 % of runs at most, and one of Smallest is
// found in four of five.
func TestCompareRates(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(17, 18))
	rate := func(ratio float64, n int) (called, smallest float64) {
		const runs = 800
		for range runs {
			a := stattest.Each(n, func(int) float64 { return 20 * (1 + 0.03*rng.NormFloat64() + stattest.Disturbed(rng, 0.2, 0.1)) })
			b := stattest.Each(n, func(int) float64 {
				return ratio * 20 * (1 + 0.03*rng.NormFloat64() + stattest.Disturbed(rng, 0.2, 0.1))
			})
			c := compareLocations(a, b, unpaired)
			if c.Verdict == record.Slower || c.Verdict == record.Faster {
				called += 1.0 / runs
			}
			smallest += c.Smallest / runs
		}
		return called, smallest
	}
	for _, n := range []int{8, 15, 30} {
		alarms, smallest := rate(1, n)
		found, _ := rate(1+smallest, n)
		t.Logf("%2d processes: %.1f %% false alarms; a difference of %.1f %% found in %.0f %%", n, 100*alarms, 100*smallest, 100*found)
		if alarms > 0.065 { // 5 % and two standard errors of the simulation
			t.Errorf("%d processes: %.1f %% false alarms", n, 100*alarms)
		}
		if found < 0.7 || found > 0.95 {
			t.Errorf("%d processes: the smallest difference, %.1f %%, is found in %.0f %%, want about 80 %%", n, 100*smallest, 100*found)
		}
	}
}
