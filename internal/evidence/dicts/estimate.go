package dicts

import (
	"math"

	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// estimate works out the dictionary's totals from the pages that were read.
func (d *Dict) estimate(c nginx.Contents) {
	entries, seen := total(c.Strata, func(t nginx.Tally) float64 { return float64(t.Entries) })
	expired, seenExpired := total(c.Strata, func(t nginx.Tally) float64 { return float64(t.Expired) })
	d.Bytes, _ = total(c.Strata, func(t nginx.Tally) float64 { return float64(t.Bytes) })
	if c.Read < c.Used && seen > 0 {
		expired = shareOf(entries, expired, seenExpired, c.Read)
	}
	d.Entries, d.Expired, d.PagesUsed, d.PagesRead = entries, expired, c.Used, c.Read
}

// total estimates a sum over all pages from simple random samples of strata, with its interval at 95 %, and
// returns the sum over those that were read (Cochran, Sampling Techniques, 3rd ed., 5.3 and 5.6).
func total(strata []nginx.Stratum, of func(nginx.Tally) float64) (sum record.Interval, seen float64) {
	const z = 1.96
	variance := 0.0
	for _, s := range strata {
		n, mean, squares := 0.0, 0.0, 0.0
		for _, t := range s.Read { // Welford's way
			n++
			x := of(t)
			seen += x
			delta := x - mean
			mean += delta / n
			squares += delta * (x - mean)
		}
		all := float64(s.Units)
		sum.Estimate += all * mean
		if n > 1 {
			variance += all * (all - n) * squares / (n - 1) / n
		}
	}
	half := z * math.Sqrt(variance)
	sum.Low, sum.High = max(seen, sum.Estimate-half), sum.Estimate+half
	return sum, seen
}

// shareOf gives a total that may be rare its interval: that of a share, by Clopper and Pearson, of as many
// entries drawn one by one as would tell as much (Korn and Graubard, Survey Methodology 24, 1998); where none
// was seen, of one from each page.
func shareOf(all, some record.Interval, seen float64, pages int) record.Interval {
	of := float64(pages)
	share := some.Estimate / all.Estimate
	if half := (some.High - some.Estimate) / 1.96 / all.Estimate; half > 0 && share < 1 {
		of = math.Ceil(share * (1 - share) / (half * half))
	}
	i := estimate.Share(int(math.Round(share*of)), int(of))
	return record.Interval{Estimate: some.Estimate, Low: max(seen, i.Low*all.Estimate), High: max(some.Estimate, i.High*all.High)}
}
