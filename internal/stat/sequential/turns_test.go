package sequential

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

// threeCases are of one side: the others are compared with the first.
func threeCases() []record.Case {
	return []record.Case{{Case: 0, Name: "a"}, {Case: 1, Name: "b"}, {Case: 2, Name: "c"}}
}

// As long as a case is open it takes its turn. Judged again from a record the same
// comparisons come out, after as many pairs, whichever case fails in which round.
func TestTurnsAreJudgedAgainAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		levels := rapid.SliceOfN(rapid.SampledFrom([]float64{20, 20.3, 22, 40}), 3, 3).Draw(t, "levels")
		failing := rapid.IntRange(-1, 2).Draw(t, "failing")
		when := rapid.IntRange(0, 12).Draw(t, "when")
		most := rapid.IntRange(1, 20).Draw(t, "most")

		rule := DefaultComparing()
		live := NewTurns(&rule, threeCases())
		rec := &record.Record{Cases: threeCases(), End: &record.End{Reason: "complete"}}
		located := []map[int]float64{{}, {}, {}}
		over := make([]bool, 3)
		for round := 0; round < most && slices.Contains(over, false); round++ {
			for i, level := range levels {
				switch {
				case over[i]:
				case i == failing && round == when:
					rec.Faults = append(rec.Faults, record.Fault{Case: i})
				default:
					located[i][round] = level * (1 + 0.01*rng.NormFloat64())
					live.Add(i, round, located[i][round])
				}
			}
			live.Look(round)
			for _, f := range rec.Faults {
				live.Fail(f.Case)
			}
			for i := range over {
				open, compared := live.Open(i)
				over[i] = compared && !open
			}
			if len(rec.Faults) > 0 {
				over[failing] = true
			}
		}
		want := map[string]int{}
		for _, r := range live.rows {
			want[r.B.Name] = len(r.pairs)
		}
		got := map[string]int{}
		for _, c := range JudgeTurns(rec, rule, func(c record.Case) (map[int]float64, map[int]bool) { return located[c.Case], nil }) {
			got[c.B] = c.Pairs
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("pairs by case (-live +record):\n%s", d)
		}
	})
}

// A case that takes no time has no ratio: it is judged by the difference in ns, and the others
// stand. Single processes that seem to take none spoil nothing.
func TestTurnsAtZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	rule := DefaultComparing()
	live := NewTurns(&rule, threeCases())
	rec := &record.Record{Cases: threeCases(), End: &record.End{Reason: "complete"}}
	located := []map[int]float64{{}, {}, {}}
	for round := range 24 {
		located[0][round] = 20 * (1 + 0.01*rng.NormFloat64())
		located[1][round] = 0.1 * rng.NormFloat64()
		located[2][round] = 40 * (1 + 0.01*rng.NormFloat64())
		if round == 3 {
			located[2][round] = -1
		}
		for i, l := range located {
			live.Add(i, round, l[round])
		}
		live.Look(round)
	}
	for i := range located {
		if open, compared := live.Open(i); open || !compared {
			t.Errorf("case %d: open %v, compared %v", i, open, compared)
		}
	}
	got := JudgeTurns(rec, rule, func(c record.Case) (map[int]float64, map[int]bool) { return located[c.Case], nil })
	if len(got) != 2 || got[0].Verdict != record.Faster || got[0].Ratio != (record.Interval{}) ||
		got[0].DifferenceNS.High > -19 || got[0].DifferenceNS.Low < -21 || stattest.Codes(got[0].Warnings)[0] != "at_zero" {
		t.Errorf("a case at zero: %+v", got)
	}
	if c := got[1]; c.Verdict != record.Slower || len(c.Warnings) > 0 || c.Ratio.Low > 2 || c.Ratio.High < 2 {
		t.Errorf("a single process at zero: %+v", c)
	}
}

// TestDifferenceCovers: the interval of the difference in ns holds the true one as often as it says, also where times are around
// zero; and two sides that take no time differ by none.
func TestDifferenceCovers(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(45, 46))
	judge := Judge{Comparing: DefaultComparing()}
	for _, truth := range []float64{0, 3, 600} {
		const runs = 400
		missed, cried := 0, 0
		for range runs {
			times := make([]pair, 20)
			for i := range times {
				drift := 0.02 * float64(i)
				times[i] = pairAt(drift+0.3*rng.NormFloat64(), drift+truth+(0.3+truth/50)*rng.NormFloat64())
			}
			c := judge.followDifference(times, true)
			if d := c.DifferenceNS; d == nil || d.Low > truth || d.High < truth {
				missed++
			}
			if c.Verdict == record.Slower && truth == 0 || c.Verdict == record.Faster || truth > 2 && c.Verdict == record.NoDifference {
				cried++
			}
		}
		if rate := float64(missed) / runs; rate > 0.05+3*math.Sqrt(0.05*0.95/runs) {
			t.Errorf("a difference of %g ns is outside of %.3g of the intervals", truth, rate)
		}
		if rate := float64(cried) / runs; rate > 0.05 {
			t.Errorf("of a difference of %g ns %.3g of the verdicts are wrong", truth, rate)
		}
	}
}

// Without a rule nothing is compared; a case whose time is spent ends its comparisons.
func TestTurnsEnd(t *testing.T) {
	rule := DefaultComparing()
	live := NewTurns(&rule, threeCases())
	live.Close(1)
	for i, want := range []bool{true, false, true} {
		if open, compared := live.Open(i); open != want || !compared {
			t.Errorf("case %d: open %v, compared %v", i, open, compared)
		}
	}
	none := NewTurns(nil, threeCases())
	none.Add(0, 0, 20)
	none.Look(0)
	none.Fail(0)
	if open, compared := none.Open(1); open || compared {
		t.Errorf("without a rule: open %v, compared %v", open, compared)
	}
}
