package probe

import (
	"math/bits"
	"time"
)

// As in moment.h.
const (
	turnLowest  = 10
	turnEach    = 16
	turnBuckets = 1 + turnEach*28
)

// A Histogram is times by their length: turns of the event loop, from one wait for events to the next; waits for a lock.
type Histogram struct {
	Longest time.Duration
	counts  [turnBuckets]uint64
}

// Add counts a time: as bucket in histogram.h.
func (h *Histogram) Add(d time.Duration) {
	h.Longest = max(h.Longest, d)
	at := 0
	if power := bits.Len64(uint64(d)) - 1; power >= turnLowest {
		at = 1 + (power-turnLowest)*turnEach + int(d>>(power-4)&(turnEach-1))
	}
	h.counts[min(at, turnBuckets-1)]++
}

// Count is how many there were.
func (h *Histogram) Count() (n int) {
	for _, c := range h.counts {
		n += int(c)
	}
	return n
}

// And is the times of both.
func (h Histogram) And(o Histogram) Histogram {
	h.Longest = max(h.Longest, o.Longest)
	for i, n := range o.counts {
		h.counts[i] += n
	}
	return h
}

// Since is the times that have come since an earlier one of these. The longest of them is exact where it is the longest of all,
// else as percentiles are.
func (h Histogram) Since(o Histogram) Histogram {
	longest := time.Duration(0)
	for i, n := range o.counts {
		if h.counts[i] -= n; h.counts[i] > 0 {
			longest = middle(i)
		}
	}
	if h.Longest == o.Longest {
		h.Longest = min(h.Longest, longest)
	}
	return h
}

// Percentile is the length that p per cent of the times do not exceed, within 3 % above 1 µs; 0 without any.
func (h *Histogram) Percentile(p float64) time.Duration {
	left := p / 100 * float64(h.Count())
	for i, c := range h.counts {
		if left -= float64(c); left <= 0 && c > 0 {
			return min(middle(i), h.Longest)
		}
	}
	return h.Longest
}

// Below is how many were shorter than so much: a power of two in ns, from 1,024 on.
func (h *Histogram) Below(length time.Duration) (n int) {
	upTo := 1 + (bits.Len64(uint64(length))-1-turnLowest)*turnEach
	for _, c := range h.counts[:min(max(0, upTo), turnBuckets)] {
		n += int(c)
	}
	return n
}

// middle is the middle of a bucket: see bucket in histogram.h.
func middle(bucket int) time.Duration {
	if bucket == 0 {
		return 1 << (turnLowest - 1)
	}
	power, part := turnLowest+(bucket-1)/turnEach, (bucket-1)%turnEach
	width := time.Duration(1) << power / turnEach
	return time.Duration(turnEach+part)*width + width/2
}
