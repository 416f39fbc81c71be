package dicts

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/nginx"
)

// TestEstimateCovers: dictionaries whose pages are known, read in part, a thousand times over. The intervals
// hold the truth about as often as they say.
func TestEstimateCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, kept := range []float64{0, 0.001, 0.1, 0.9} { // share of pages with entries that have expired
		entriesHeld, expiredHeld := 0, 0
		const draws = 1000
		for range draws {
			var c nginx.Contents
			entries, expired := 0.0, 0.0
			for _, most := range []int{4, 8, 32} { // pieces in a page
				s := nginx.Stratum{Units: 500}
				var pages []nginx.Tally
				for range s.Units {
					p := nginx.Tally{Entries: most - random.IntN(2)*random.IntN(most)}
					if random.Float64() < kept {
						p.Expired = random.IntN(p.Entries + 1)
					}
					pages = append(pages, p)
					entries += float64(p.Entries)
					expired += float64(p.Expired)
				}
				s.Read = pages[:60] // they are in no order
				c.Strata = append(c.Strata, s)
				c.Used += s.Units
				c.Read += len(s.Read)
			}
			var d Dict
			d.estimate(c)
			if d.Entries.Low <= entries && entries <= d.Entries.High {
				entriesHeld++
			}
			if d.Expired.Low <= expired && expired <= d.Expired.High {
				expiredHeld++
			}
		}
		if entriesHeld < 0.92*draws || expiredHeld < 0.90*draws {
			t.Errorf("expired in %g of the pages: of %d intervals %d hold the entries, %d those that have expired", kept, draws, entriesHeld, expiredHeld)
		}
	}
}

// TestEstimateWhole: what was read whole is known.
func TestEstimateWhole(t *testing.T) {
	c := nginx.Contents{Used: 3, Read: 3, Strata: []nginx.Stratum{
		{Units: 2, Read: []nginx.Tally{{Entries: 3, Expired: 1, Bytes: 300}, {Entries: 5, Bytes: 500}}},
		{Units: 1, Read: []nginx.Tally{{Entries: 1, Expired: 1, Bytes: 9000}}},
	}}
	var d Dict
	d.estimate(c)
	for _, x := range []struct{ got, low, high, want float64 }{
		{d.Entries.Estimate, d.Entries.Low, d.Entries.High, 9}, {d.Expired.Estimate, d.Expired.Low, d.Expired.High, 2},
		{d.Bytes.Estimate, d.Bytes.Low, d.Bytes.High, 9800},
	} {
		if math.Abs(x.got-x.want) > 1e-9 || math.Abs(x.low-x.want) > 1e-9 || math.Abs(x.high-x.want) > 1e-9 {
			t.Errorf("%+v", x)
		}
	}
	var none Dict
	if none.estimate(nginx.Contents{}); none.Entries.High != 0 || none.Expired.High != 0 {
		t.Errorf("of nothing: %+v", none)
	}
}

func TestEvicted(t *testing.T) {
	for _, x := range []struct {
		noted        string // a: not expired, x: expired
		fate         nginx.Fate
		noRoom, want float64
		atLeast      bool
	}{
		{"aaaa", nginx.Fate{}, 0, 0, false},
		{"aaaa", nginx.Fate{}, 7, 0, false},                    // safe_set, which throws nothing out
		{"aaaa", nginx.Fate{Moved: 2}, 0, 0, false},            // set to larger values
		{"aaaa", nginx.Fate{Gone: 2, Alive: 2}, 0, 1, false},   // values of whole pages, or deleted
		{"xxxa", nginx.Fate{Gone: 3, Expired: 3}, 0, 0, false}, // all that left had expired
		{"xxxx", nginx.Fate{Gone: 4, Expired: 4}, 0, 0, false},
		{"aaaa", nginx.Fate{Gone: 4, Alive: 4}, 0, 2, true}, // more may have been
		{"aaaa", nginx.Fate{Gone: 4, Alive: 4}, 900, 900, true},
		{"aaaa", nginx.Fate{Moved: 3, Gone: 1, Alive: 1}, 900, 900, true},        // thrown out, and set again
		{"xxxxxxxxxx", nginx.Fate{Gone: 10, Expired: 10}, 900, 0, true},          // nothing but what had expired
		{"axxaxxaxx", nginx.Fate{Gone: 9, Alive: 3, Expired: 6}, 900, 900, true}, // those that have expired leave besides
		{"xxxaxxxa", nginx.Fate{Gone: 8, Alive: 2, Expired: 6}, 900, 600, true},
		{"", nginx.Fate{}, 0, 0, false},
	} {
		var noted []nginx.Entry
		for _, c := range x.noted {
			left := time.Minute
			if c == 'x' {
				left = -left
			}
			noted = append(noted, nginx.Entry{Left: &left})
		}
		got := evicted(noted, x.fate, x.noRoom, 2*time.Second)
		if got.PerSecond != x.want || got.AtLeast != x.atLeast {
			t.Errorf("%+v: %+v", x, got)
		}
	}
}
