package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func seen(count, of int64) Seen { return Seen{[]int64{count}, []int64{of}} }

// TestFisher against fractions that can be counted by hand.
func TestFisher(t *testing.T) {
	for _, c := range []struct{ a, b, n, m, want float64 }{
		{3, 1, 4, 4, 0.4857142857}, // Fisher's tea: the tail is 17/70
		{4, 0, 4, 4, 2.0 / 70},
		{0, 5, 10, 10, 2 * 252.0 / 15504}, // C(10,5) / C(20,5)
		{50, 50, 100, 100, 1},
	} {
		if got := fisher(c.a, c.b, c.n, c.m); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v of %v and %v of %v: %v, want %v", c.a, c.n, c.b, c.m, got, c.want)
		}
	}
}

// TestFisherIsAProbability: symmetric in the two sides, between 0 and 1, and smaller for what lies
// farther out, however many looks there are.
func TestFisherIsAProbability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := float64(rapid.IntRange(1, 1e6).Draw(t, "n"))
		m := float64(rapid.IntRange(1, 1e6).Draw(t, "m"))
		a := math.Floor(n * rapid.Float64Range(0, 1).Draw(t, "a"))
		b := math.Floor(m * rapid.Float64Range(0, 1).Draw(t, "b"))
		p := fisher(a, b, n, m)
		if !(p >= 0 && p <= 1) {
			t.Fatalf("P %v", p)
		}
		if q := fisher(b, a, m, n); math.Abs(p-q) > 1e-6 {
			t.Fatalf("%v one way, %v the other", p, q)
		}
		if a/n > b/m && a < n && b > 0 {
			if q := fisher(a+1, b-1, n, m); q > p*(1+1e-6) {
				t.Fatalf("%v, farther out %v", p, q)
			}
		}
	})
}

func TestCompareShares(t *testing.T) {
	changes := CompareShares(
		[]Seen{seen(100, 1000), seen(500, 1000), seen(0, 1000), seen(1, 1000), seen(0, 0)},
		[]Seen{seen(200, 1000), seen(510, 1000), seen(40, 1000), seen(0, 1000), seen(0, 1000)},
	)
	for i, distinct := range []bool{true, false, true, false, false} {
		if c := changes[i]; c.Distinct != distinct || !(c.P >= 0 && c.P <= 1) || c.Change.Low > c.Change.Estimate || c.Change.Estimate > c.Change.High {
			t.Errorf("%d: %+v", i, c)
		}
	}
	if c := changes[0]; math.Abs(c.Change.Estimate-0.1) > 1e-12 || c.Change.Low < 0.06 || c.Change.High > 0.14 {
		t.Errorf("%+v", c)
	}
	if c := changes[4]; c.Change.Low != -1 || c.Change.High != 1 {
		t.Errorf("of nothing: %+v", c)
	}
	if all := CompareShares(nil, nil); len(all) != 0 {
		t.Error(all)
	}
}

// profileOf makes up a profile: looks fall into runs of the same thing, as in long requests, and the
// things have these shares.
func profileOf(r *rand.Rand, looks, run, slices int, shares []float64) []Seen {
	all := make([]Seen, len(shares))
	for i := range all {
		all[i] = Seen{make([]int64, slices), make([]int64, slices)}
	}
	thing := 0
	for look := range looks {
		if look%run == 0 {
			for x := r.Float64(); ; thing = (thing + 1) % len(shares) {
				if x -= shares[thing]; x < 0 {
					break
				}
			}
		}
		slice := look * slices / looks
		all[thing].Count[slice]++
		for i := range all {
			all[i].Of[slice]++
		}
	}
	return all
}

// TestSharesCryWolf: equal programs differ distinctly in any of many things no more often than the
// level says, also where one request holds several looks; as independent looks they would.
func TestSharesCryWolf(t *testing.T) {
	t.Parallel()
	const trials = 300
	shares := []float64{0.3, 0.2, 0.1}
	for range 100 {
		shares = append(shares, 0.4/100)
	}
	for _, run := range []int{1, 8} {
		wolf, naive := 0, 0
		for trial := range trials {
			r := rand.New(rand.NewPCG(uint64(run), uint64(trial)))
			before, after := profileOf(r, 1000, run, 20, shares), profileOf(r, 1000, run, 20, shares)
			wolf += anyDistinct(CompareShares(before, after))
			naive += anyDistinct(CompareShares(together(before), together(after)))
		}
		t.Logf("runs of %d looks: %d of %d pairs cried wolf, %d without slices", run, wolf, trials, naive)
		if limit := trials * 8 / 100; wolf > limit {
			t.Errorf("runs of %d looks: %d of %d pairs cried wolf", run, wolf, trials)
		}
		if run > 1 && naive < trials/5 {
			t.Errorf("runs of %d looks: only %d of %d pairs without slices cried wolf: does this test anything?", run, naive, trials)
		}
	}
}

// TestSharesFind: a share that doubles from 10 to 20 % is found in a thousand looks.
func TestSharesFind(t *testing.T) {
	found := 0
	for trial := range 100 {
		r := rand.New(rand.NewPCG(7, uint64(trial)))
		before := profileOf(r, 1000, 2, 20, []float64{0.1, 0.9})
		after := profileOf(r, 1000, 2, 20, []float64{0.2, 0.8})
		found += anyDistinct(CompareShares(before, after))
	}
	if found < 90 {
		t.Errorf("found in %d of 100", found)
	}
}

func together(all []Seen) []Seen {
	var one []Seen
	for _, s := range all {
		count, of := s.sums()
		one = append(one, seen(int64(count), int64(of)))
	}
	return one
}

func anyDistinct(changes []ShareChange) int {
	for _, c := range changes {
		if c.Distinct {
			return 1
		}
	}
	return 0
}
