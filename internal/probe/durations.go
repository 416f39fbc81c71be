package probe

import (
	"maps"
	"math/bits"
	"slices"
	"time"
)

// Durations is how long something took, each time it happened: turns of the event loop, waits for a lock. Percentiles are within
// 3 %; all that took less than 1,024 ns is taken for 512.
type Durations struct {
	Count    int                   `json:"count"`
	Total    time.Duration         `json:"total_ns"`
	Shortest time.Duration         `json:"shortest_ns"` // 0: not known
	Median   time.Duration         `json:"p50_ns"`
	P99      time.Duration         `json:"p99_ns"`
	Longest  time.Duration         `json:"longest_ns"`
	ByLength map[time.Duration]int `json:"by_length,omitempty"` // by the least of a bucket: sixteen for each power of two, as in histogram.h
}

const (
	lowest  = 1 << 10 // shorter ones are in one bucket
	highest = 31 << 33
	parts   = 16 // of a power of two
	buckets = 1 + parts*28
)

// bucket is the least of those in a time's bucket.
func bucket(d time.Duration) time.Duration {
	if d < lowest {
		return 0
	}
	return min(d&^(width(d)-1), highest)
}

// width of a time's bucket.
func width(d time.Duration) time.Duration {
	return time.Duration(1) << (bits.Len64(uint64(max(d, lowest))) - 1) / parts
}

// middle is what those in a bucket are taken for.
func middle(bucket time.Duration) time.Duration {
	if bucket == 0 {
		return lowest / 2
	}
	return bucket + width(bucket)/2
}

// DurationsOf is what a program in the kernel has counted: struct spans of moment.h.
func DurationsOf[N uint32 | uint64](total, shortest, longest uint64, counts []N) Durations {
	d := Durations{Total: time.Duration(total), Shortest: time.Duration(shortest), Longest: time.Duration(longest), ByLength: map[time.Duration]int{}}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		least := time.Duration(0)
		if i > 0 {
			least = time.Duration(parts+(i-1)%parts) << ((i-1)/parts + 6) // lowest is parts << 6
		}
		d.ByLength[least] = int(n)
		d.Count += int(n)
	}
	return d.measured()
}

// Add counts one more.
func (d Durations) Add(one time.Duration) Durations {
	return d.And(Durations{Count: 1, Total: one, Shortest: one, Longest: one, ByLength: map[time.Duration]int{bucket(one): 1}})
}

// And is both.
func (d Durations) And(o Durations) Durations {
	d.Count += o.Count
	d.Total += o.Total
	d.Longest = max(d.Longest, o.Longest)
	if d.Shortest == 0 || o.Shortest != 0 && o.Shortest < d.Shortest {
		d.Shortest = o.Shortest
	}
	d.ByLength = maps.Clone(d.ByLength)
	if d.ByLength == nil {
		d.ByLength = map[time.Duration]int{}
	}
	for length, n := range o.ByLength {
		d.ByLength[length] += n
	}
	return d.measured()
}

// Since is what has come since earlier ones of these. The longest is exact where it is the longest of all, else as percentiles are;
// the shortest is not known.
func (d Durations) Since(o Durations) Durations {
	d.Count -= o.Count
	d.Total -= o.Total
	d.Shortest = 0
	longest := time.Duration(0)
	now := map[time.Duration]int{}
	for length, n := range d.ByLength {
		if n -= o.ByLength[length]; n > 0 {
			now[length] = n
			longest = max(longest, middle(length))
		}
	}
	if d.Longest == o.Longest {
		d.Longest = min(d.Longest, longest)
	}
	d.ByLength = now
	return d.measured()
}

func (d Durations) measured() Durations {
	d.Median, d.P99 = d.Percentile(50), d.Percentile(99)
	return d
}

// Percentile is the length that p per cent of them do not exceed; 0 without any.
func (d Durations) Percentile(p float64) time.Duration {
	left := p / 100 * float64(d.Count)
	for _, length := range slices.Sorted(maps.Keys(d.ByLength)) {
		if left -= float64(d.ByLength[length]); left <= 0 {
			return min(middle(length), d.Longest)
		}
	}
	return d.Longest
}

// Below is how many were shorter than a power of two in ns, from 1,024 on.
func (d Durations) Below(length time.Duration) (n int) {
	for least, count := range d.ByLength {
		if least < length {
			n += count
		}
	}
	return n
}
