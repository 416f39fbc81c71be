package probe

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTurns: percentiles of turns are within 1/32 of the truth, or below the lowest bucket.
func TestTurns(t *testing.T) {
	if none := (&Histogram{}).Percentile(99); none != 0 {
		t.Errorf("of no turns: %v", none)
	}
	rapid.Check(t, func(t *rapid.T) {
		bucket := rapid.IntRange(1, turnBuckets-1).Draw(t, "bucket")
		var turns Histogram
		turns.Longest = time.Hour
		turns.counts[bucket] = 10
		turns.counts[0] = 10
		if got := turns.Percentile(50); got > 1<<turnLowest {
			t.Errorf("the median is %v", got)
		}
		got := turns.Percentile(50.1)
		power := turnLowest + (bucket-1)/turnEach
		width := time.Duration(1) << power / turnEach
		from := time.Duration(1)<<power + time.Duration((bucket-1)%turnEach)*width
		if got < from || got >= from+width || turns.Count() != 20 {
			t.Errorf("%v is not between %v and %v", got, from, from+width)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1<<turnLowest, 1<<37).Draw(t, "time"))
		var one Histogram
		one.Add(d)
		one.Longest = time.Hour
		if got := one.Percentile(50); max(got-d, d-got) > d/turnEach/2+1 || one.Count() != 1 {
			t.Errorf("%v is told as %v", d, got)
		}
	})
	a := Rest{Slept: 1, Turns: Histogram{Longest: 5}}
	a.Turns.counts[3] = 2
	b := a.And(a)
	if b.Slept != 2 || b.Turns.Count() != 4 || a.Turns.Count() != 2 || b.Turns.Longest != 5 {
		t.Errorf("%+v", b)
	}
}
