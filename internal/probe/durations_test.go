package probe

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func durationsOf(all ...time.Duration) (d Durations) {
	for _, one := range all {
		d = d.Add(one)
	}
	return d
}

// TestDurations: percentiles are within 1/32 of the truth, or below the lowest bucket; and what two have is added up, in whichever
// order, without a change of either. Kept as JSON they come back.
func TestDurations(t *testing.T) {
	if none := (Durations{}).Percentile(99); none != 0 {
		t.Errorf("of none: %v", none)
	}
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Map(rapid.Int64Range(1, 1<<37), func(n int64) time.Duration { return time.Duration(n) }), 1, 50).Draw(t, "all")
		cut := rapid.IntRange(0, len(all)).Draw(t, "cut")
		a, b := durationsOf(all[:cut]...), durationsOf(all[cut:]...)
		before := durationsOf(all[:cut]...)
		got := a.And(b)
		if diff := cmp.Diff(b.And(a), got); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(before, a); diff != "" {
			t.Fatalf("the first has changed: %s", diff)
		}
		sum := time.Duration(0)
		for _, d := range all {
			sum += d
		}
		if got.Count != len(all) || got.Total != sum || got.Longest != slices.Max(all) || got.Shortest != slices.Min(all) {
			t.Fatalf("%+v", got)
		}
		slices.Sort(all)
		for p, told := range map[float64]time.Duration{50: got.Median, 99: got.P99, 100: got.Percentile(100)} {
			truth := all[max(0, int(float64(len(all))*p/100+0.999999)-1)]
			if off := max(told-truth, truth-told); truth >= lowest && off > truth/parts/2+1 || truth < lowest && told > lowest {
				t.Errorf("%v %% is %v, not %v", p, told, truth)
			}
		}
		kept, err := json.Marshal(got)
		var back Durations
		if err == nil {
			err = json.Unmarshal(kept, &back)
		}
		if diff := cmp.Diff(got, back); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	})
}

// TestDurationsOf: the kernel's buckets, by their number, are those of Add.
func TestDurationsOf(t *testing.T) {
	counts := make([]uint64, buckets)
	var want Durations
	for i := range counts {
		counts[i] = rand.Uint64N(3)
	}
	got := DurationsOf(1, 2, 3, counts)
	least := time.Duration(0)
	for i, n := range counts {
		if i > 0 {
			least = max(lowest, least+width(least))
			if i == 1 {
				least = lowest
			}
		}
		if bucket(least) != least || got.ByLength[least] != int(n) {
			t.Fatalf("bucket %d begins with %v, which is in that of %v; %d of %d are there", i, least, bucket(least), got.ByLength[least], n)
		}
		want.Count += int(n)
	}
	if least != highest || got.Count != want.Count || got.Total != 1 || got.Shortest != 2 || got.Longest != 3 {
		t.Errorf("the last one begins with %v; %+v", least, got)
	}
	if d := durationsOf(time.Hour); d.ByLength[highest] != 1 {
		t.Errorf("%v", d.ByLength)
	}
}

// TestDurationsSince: an interval has what came in it, and its longest time is within a bucket of the truth.
func TestDurationsSince(t *testing.T) {
	before := durationsOf(2*time.Microsecond, 2*time.Microsecond, 9*time.Microsecond)
	after := before.Add(2 * time.Microsecond)
	got := after.Since(before)
	near := func(d time.Duration) bool { return max(d-2*time.Microsecond, 2*time.Microsecond-d) < 70 }
	if got.Count != 1 || got.Total != 2*time.Microsecond || !near(got.Longest) || !near(got.Median) || got.Shortest != 0 {
		t.Errorf("%+v", got)
	}
	if after.Count != 4 || after.Longest != 9*time.Microsecond {
		t.Error("what it was made of has changed")
	}
	if none := before.Since(before); none.Count != 0 || none.Total != 0 || none.Longest != 0 || none.P99 != 0 {
		t.Errorf("nothing came, but %+v", none)
	}
	if got := after.Add(time.Millisecond).Since(before).Longest; got != time.Millisecond {
		t.Errorf("the longest of all came, but %v", got)
	}
}

// TestBelow: a time falls below the powers of two that are longer.
func TestBelow(t *testing.T) {
	d := durationsOf(5, 1024, 2047, 2048, 1<<38)
	for length, want := range map[time.Duration]int{1024: 1, 2048: 3, 4096: 4, 1 << 37: 4, 1 << 38: 5, 1 << 40: 5, 512: 1, 0: 0} {
		if got := d.Below(length); got != want {
			t.Errorf("%d below %v, not %d", got, length, want)
		}
	}
}
