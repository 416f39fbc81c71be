package sequential

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

// Boundaries of five equal looks at 5 % with the spending function of Lan & DeMets that
// mimics O'Brien & Fleming: Jennison & Turnbull, Group Sequential Methods, 2000, and R's
// gsDesign and ldbounds.
func TestLooksMatchPublishedBoundaries(t *testing.T) {
	l := newLooks(0.05, []int{1, 2, 3, 4, 5}, func(n int) float64 {
		return 4 * estimate.NormalCDF(-estimate.NormalQuantile(1-0.05/4)/math.Sqrt(float64(n)/5)) / 0.05
	})
	for n, want := range map[int]float64{1: 4.8769, 2: 3.3569, 3: 2.6803, 4: 2.2898, 5: 2.0310} {
		got := -estimate.NormalQuantile(l.tail(n, false))
		t.Logf("look %d: %.4f, published %.4f", n, got, want)
		if math.Abs(got-want) > 0.02 {
			t.Errorf("look %d: bound %.4f, published %.4f", n, got, want)
		}
	}
}

// The looks spend no more than allowed, the last one whatever is left.
func TestLooksSpend(t *testing.T) {
	t.Parallel()
	for _, alpha := range []float64{0.05, 0.01, 0.05 / 17} {
		l := looksFor(alpha)
		for n := 1; n <= MostPairs+100; n++ {
			if l.tail(n, true) < l.tail(n, false) || l.tail(n, true) > alpha/2+1e-3*alpha {
				t.Errorf("alpha %g, look %d: tail %g, the last %g", alpha, n, l.tail(n, false), l.tail(n, true))
			}
			if isLook(n) != (l.tail(n, false) > 0) && n > 20 {
				t.Errorf("alpha %g: %d pairs look with a tail of %g", alpha, n, l.tail(n, false))
			}
		}
		if first := leastPairs(alpha / 2); l.tail(first-1, false) != 0 || math.Abs(l.tail(first, true)-alpha/2) > 0.03*alpha {
			t.Errorf("alpha %g: %d pairs may use %g, %d alone %g", alpha, first-1, l.tail(first-1, false), first, l.tail(first, true))
		}
	}
}

// A verdict says no more and no less than its interval, which is never on one side of 1 and undecided.
func TestVerdictFollowsFromItsInterval(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		j := Judge{Comparing: DefaultComparing(), Rows: rapid.IntRange(1, 4).Draw(t, "rows")}
		center := rapid.Float64Range(-5, 5).Draw(t, "center")
		spread := rapid.SampledFrom([]float64{0, 0.001, 0.02, 1}).Draw(t, "spread")
		pairs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) pair {
			return pairAt(0, center+spread*rapid.Float64Range(-1, 1).Draw(t, "b"))
		}), 1, 30).Draw(t, "pairs")
		for _, last := range []bool{false, true} {
			c := j.look(pairs, last)
			r, margin := c.Ratio, 1+j.MinEffect
			var holds bool
			switch c.Verdict {
			case record.NoDifference:
				holds = r.Low > 1/margin && r.High < margin
			// The interval of the logarithm excludes 0; as a ratio its end may round to 1.
			case record.Slower:
				holds = r.Low >= 1 && r.High > 1
			case record.Faster:
				holds = r.High <= 1 && r.Low < 1
			default:
				holds = r.Low <= 1 && 1 <= r.High || r.Low == r.High && len(c.Warnings) > 0 // there is no interval
			}
			if !holds {
				t.Fatalf("%d pairs are %q with %+v", len(pairs), c.Verdict, r)
			}
		}
	})
}

// Who is told how many pairs have to count is told more than there are, and as many suffice: of 6 never "at least 6".
func TestLeastPairsSuffice(t *testing.T) {
	for rows := 1; rows < 6; rows++ {
		j := Judge{Comparing: DefaultComparing(), Rows: rows}
		for _, last := range []bool{false, true} {
			for n := 1; n < 12; n++ {
				pairs := make([]pair, n)
				for i := range pairs {
					pairs[i] = pairAt(0, 1+0.01*float64(i%3))
				}
				c := j.look(pairs, last)
				if len(c.Warnings) == 0 {
					continue
				}
				least := n + c.Needs/2
				if least <= n || !strings.Contains(c.Warnings[0].Advice, fmt.Sprintf("at least %d pairs", least)) {
					t.Errorf("%d pairs, %d rows: %d more processes, %q", n, rows, c.Needs, c.Warnings[0].Advice)
				}
				for len(pairs) < least {
					pairs = append(pairs, pairAt(0, 1))
				}
				if c = j.look(pairs, last); len(c.Warnings) > 0 {
					t.Errorf("%d pairs, %d rows: %d were asked for, and do not suffice: %v", n, rows, least, c.Warnings)
				}
			}
		}
	}
}

// chanceOf is what counting out every exchange by hand gives.
func TestChanceIsThatOfAllExchanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) pair {
			return pairAt(float64(rapid.IntRange(0, 9).Draw(t, "a")), float64(rapid.IntRange(0, 9).Draw(t, "b")))
		}), 1, 9).Draw(t, "pairs")
		statistic := func(pairs []pair) (sum int) {
			for i, p := range pairs {
				for _, q := range roundsAround(pairs, i) {
					sum += cmp.Compare(q.b, p.a)
				}
			}
			return sum
		}
		seen, asFar := statistic(pairs), 0
		for exchanges := range 1 << len(pairs) {
			other := slices.Clone(pairs)
			for i, p := range other {
				if exchanges>>i&1 == 1 {
					other[i] = pairAt(p.b, p.a)
				}
			}
			if statistic(other) >= seen {
				asFar++
			}
		}
		want := float64(asFar) / float64(int(1)<<len(pairs))
		if got := chanceOf(pairs, 0, 1); math.Abs(got-want) > 1e-12 {
			t.Fatalf("chance %g, counted out %g", got, want)
		}
	})
}

// With times not above zero among them the chances are still those of all exchanges: under
// equal sides they are no rarer than they say.
func TestChanceWithTimesAtZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	const runs = 2000
	refused := 0
	for range runs {
		pairs := make([]pair, 10)
		for i := range pairs {
			pairs[i] = pairOf(0.5+rng.NormFloat64(), 0.5+rng.NormFloat64())
		}
		if chanceOf(pairs, 0, 1) <= 0.05 {
			refused++
		}
	}
	t.Logf("%d of %d", refused, runs)
	if rate := float64(refused) / runs; rate > 0.05+3*math.Sqrt(0.05*0.95/runs) || rate < 0.02 {
		t.Errorf("refused %d of %d", refused, runs)
	}
}

// Shifting one side shifts the interval, exchanging the sides mirrors it, and a drift
// that both sides share changes nothing when it is slow.
func TestTurnsIntervalMoves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pairs := drawPairs(t)
		shift := rapid.Float64Range(-1, 1).Draw(t, "shift")
		iv, ok := turnsInterval(pairs, 0.025)
		moved, mirrored := slices.Clone(pairs), slices.Clone(pairs)
		for i, p := range pairs {
			moved[i].b += shift
			mirrored[i] = pairAt(p.b, p.a)
		}
		isNear := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-9 {
				t.Fatalf("%s: %g, want %g (%v, %v)", what, got, want, iv, ok)
			}
		}
		m, _ := turnsInterval(moved, 0.025)
		isNear("estimate moved", m.Estimate, iv.Estimate+shift)
		isNear("low moved", m.Low, iv.Low+shift)
		isNear("high moved", m.High, iv.High+shift)
		m, _ = turnsInterval(mirrored, 0.025)
		isNear("estimate mirrored", m.Estimate, -iv.Estimate)
		isNear("low mirrored", m.Low, -iv.High)
		isNear("high mirrored", m.High, -iv.Low)
		if iv.Low > iv.Estimate || iv.High < iv.Estimate {
			t.Fatalf("the estimate is outside: %+v", iv)
		}
		if wider, _ := turnsInterval(pairs, 0.005); wider.Low > iv.Low || wider.High < iv.High {
			t.Fatalf("a rarer tail gives a narrower interval: %+v %+v", wider, iv)
		}
	})
}

func drawPairs(t *rapid.T) []pair {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	pairs := make([]pair, rapid.IntRange(6, 50).Draw(t, "pairs"))
	for i := range pairs {
		pairs[i] = pairAt(rng.NormFloat64(), rng.NormFloat64())
	}
	return pairs
}

func pairsOf(n int, of func(i int) (a, b float64)) []pair {
	pairs := make([]pair, n)
	for i := range pairs {
		a, b := of(i)
		pairs[i] = pairOf(a, b)
	}
	return pairs
}

func TestJudgeSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	j := Judge{Comparing: DefaultComparing()}
	few := j.look(pairsOf(4, func(i int) (float64, float64) { return 20, 40 }), true)
	if few.Verdict != record.Undecided || few.Needs != 4 || !slices.Contains(stattest.Codes(few.Warnings), "few_processes") {
		t.Errorf("four pairs: %+v", few)
	}
	equal := j.look(pairsOf(6, func(i int) (float64, float64) { return 20, 20 }), true)
	if equal.Verdict != record.NoDifference || equal.Ratio != (record.Interval{Estimate: 1, Low: 1, High: 1}) {
		t.Errorf("all samples equal: %+v", equal)
	}
	none := j.look(nil, true)
	if none.Verdict != record.Undecided || none.Ratio != (record.Interval{}) || none.Needs <= 0 {
		t.Errorf("no pair: %+v", none)
	}
	many := j
	many.Rows = 50
	if c := many.look(pairsOf(8, func(i int) (float64, float64) { return 20, 40 + float64(i) }), true); c.Verdict != record.Undecided {
		t.Errorf("eight pairs cannot decide one of fifty rows: %+v", c)
	}
}

// A difference that is proved but may be too small to matter is measured on; with a gate,
// until it is on one side of that.
func TestDecided(t *testing.T) {
	j := Judge{Comparing: record.Comparing{Level: estimate.Level, MinEffect: 0.01}}
	gate := j
	gate.FailIfSlower = 0.03
	c := func(verdict string, estimate, low, high float64) record.Comparison {
		return record.Comparison{Verdict: verdict, Ratio: record.Interval{Estimate: estimate, Low: low, High: high}}
	}
	for _, tt := range []struct {
		c           record.Comparison
		plain, gate bool
	}{
		{c(record.Slower, 1.02, 1.01, 1.025), true, true},
		{c(record.Slower, 1.006, 1.001, 1.012), false, false},
		{c(record.Faster, 0.995, 0.985, 0.999), false, false},
		{c(record.Faster, 0.97, 0.96, 0.98), true, true},
		{c(record.Slower, 1.04, 1.02, 1.06), true, false},
		{c(record.Slower, 1.05, 1.04, 1.06), true, true},
		{c(record.NoDifference, 1, 0.995, 1.005), true, true},
		{c(record.Undecided, 1, 0.9, 1.1), false, false},
	} {
		if got := j.decided(tt.c); got != tt.plain {
			t.Errorf("%+v decided: %v", tt.c, got)
		}
		if got := gate.decided(tt.c); got != tt.gate {
			t.Errorf("%+v decided with a gate: %v", tt.c, got)
		}
	}
	if TooSlow(c(record.Slower, 1.04, 1.02, 1.06), 0.03) || !TooSlow(c(record.Slower, 1.05, 1.04, 1.06), 0.03) {
		t.Error("the gate fails by the interval's low end")
	}
}

// About as many processes as an undecided comparison asks for decide it.
func TestNeedsIsAboutRight(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	j := Judge{Comparing: DefaultComparing()}
	decided, undecided := 0, 0
	for range 60 {
		noisy := func(int) (float64, float64) {
			return 20 * math.Exp(0.03*rng.NormFloat64()), 20.8 * math.Exp(0.03*rng.NormFloat64())
		}
		pairs := pairsOf(8, noisy)
		c := j.look(pairs, true)
		if c.Verdict != record.Undecided || c.Needs > 80 {
			continue
		}
		undecided++
		if j.look(append(pairs, pairsOf(c.Needs, noisy)...), true).Verdict != record.Undecided {
			decided++ // with twice as many as asked for: chance may have flattered the first
		}
	}
	t.Logf("decided %d of %d", decided, undecided)
	if undecided < 10 || 4*decided < 3*undecided {
		t.Errorf("decided %d of %d", decided, undecided)
	}
}
