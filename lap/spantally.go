package lap

import (
	"math"
	"sync/atomic"
)

// A spanTally is a tally that goroutines add to at once.
type spanTally struct {
	counts     [tallyCounters]atomic.Uint64
	count, sum atomic.Int64
	min, max   atomic.Int64
}

func (s *spanTally) reset() {
	for i := range s.counts {
		s.counts[i].Store(0)
	}
	s.count.Store(0)
	s.sum.Store(0)
	s.min.Store(math.MaxInt64)
	s.max.Store(math.MinInt64)
}

// add returns how many values there are now.
func (s *spanTally) add(v int64) int64 {
	s.counts[tallyIndex(v)].Add(1)
	s.sum.Add(v)
	for least := s.min.Load(); v < least && !s.min.CompareAndSwap(least, v); {
		least = s.min.Load()
	}
	for most := s.max.Load(); v > most && !s.max.CompareAndSwap(most, v); {
		most = s.max.Load()
	}
	return s.count.Add(1)
}

// tally is a copy. Values added meanwhile may be missing, but count and counts agree.
func (s *spanTally) tally() *tally {
	t := &tally{min: s.min.Load(), max: s.max.Load(), sum: float64(s.sum.Load())}
	before := s.count.Load()
	for i := range s.counts {
		n := s.counts[i].Load()
		t.counts[i] = n
		t.count += int64(n)
	}
	// The sum is of other values when some came meanwhile: scale it to the count.
	if before > 0 && t.count != before {
		t.sum *= float64(t.count) / float64(before)
	}
	return t
}
