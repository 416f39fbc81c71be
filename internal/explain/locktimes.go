package explain

import (
	"time"

	"github.com/moonlap/moonlap/internal/worker"
)

// LockTimes is how long locks of shared memory were waited for and held. Times are in ns, shares of the time
// that was probed.
type LockTimes struct {
	Elapsed int64      `json:"elapsed_ns"` // of all workers together, as all below
	Probed  int64      `json:"probed_ns"`
	Bursts  int        `json:"bursts"`
	Taken   int        `json:"taken"`
	Each    int64      `json:"cost_of_each_ns"` // that the probe adds to a lock, at most
	Cost    float64    `json:"cost"`            // share of the elapsed time, at most
	Budget  float64    `json:"budget"`
	Zones   []ZoneLock `json:"zones"`
}

// A ZoneLock is the lock of one zone of shared memory.
type ZoneLock struct {
	Zone string `json:"zone"`
	Wait Spans  `json:"wait"`
	Hold Spans  `json:"hold"`
}

// Spans are times with what the probe itself takes in them. Percentiles below 1,024 ns are not told apart, and 512.
type Spans struct {
	Count   int     `json:"count"`
	Median  int64   `json:"p50_ns"`
	P99     int64   `json:"p99_ns"`
	Longest int64   `json:"longest_ns"`
	Total   int64   `json:"total_ns"`
	Share   float64 `json:"share"`
}

func share(part, of int64) float64 { return float64(part) / float64(max(1, of)) }

// SpansOf puts times that were seen in so much time into figures.
func SpansOf(s worker.Spans, probed time.Duration) Spans {
	at := func(p float64) int64 { return s.Percentile(p).Nanoseconds() }
	total := s.Sum.Nanoseconds()
	return Spans{s.Count(), at(50), at(99), s.Longest.Nanoseconds(), total, share(total, probed.Nanoseconds())}
}

// Locks puts what was timed into figures.
func Locks(l worker.LockTimes) *LockTimes {
	t := &LockTimes{
		Elapsed: l.Elapsed.Nanoseconds(), Probed: l.Probed.Nanoseconds(), Bursts: l.Bursts, Taken: l.Taken, Each: l.Each.Nanoseconds(),
		Cost: share(l.Cost.Nanoseconds(), l.Elapsed.Nanoseconds()), Budget: l.Budget, Zones: []ZoneLock{},
	}
	for _, z := range l.Zones {
		t.Zones = append(t.Zones, ZoneLock{z.Zone, SpansOf(z.Waits, l.Probed), SpansOf(z.Holds, l.Probed)})
	}
	return t
}
