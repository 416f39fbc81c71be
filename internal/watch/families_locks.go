package watch

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/moonlap/moonlap/internal/worker"
)

// lockBounds are the upper bounds of the histograms of lock times: every other power of two, which are exact ones.
var lockBounds = func() (all []time.Duration) {
	for b := time.Duration(1 << 10); b < 2*time.Second; b *= 4 {
		all = append(all, b)
	}
	return all
}()

// addLocks adds what was timed in an interval to what was since an nginx is watched.
func addLocks(all map[int]worker.LockTimes, rows []Row) map[int]worker.LockTimes {
	sums := map[int]worker.LockTimes{} // of those that are still watched
	for _, r := range rows {
		if r.moment.locks == nil {
			continue
		}
		if _, there := sums[r.Master]; !there {
			sums[r.Master] = all[r.Master]
		}
		sums[r.Master] = sums[r.Master].And(*r.moment.locks)
	}
	return sums
}

// locks writes how long locks were waited for and held, where that was asked for.
func (e *exposition) locks(all map[int]worker.LockTimes) {
	masters := slices.Sorted(maps.Keys(all))
	counter := func(name, help string, value func(worker.LockTimes) float64) {
		e.family(name, "counter", help)
		for _, m := range masters {
			e.value(value(all[m]), "master", strconv.Itoa(m))
		}
	}
	counter("locks_probed_seconds_total", "Time in which locks of shared memory were timed, of all watched workers together; the histograms below are of it.",
		func(l worker.LockTimes) float64 { return l.Probed.Seconds() })
	counter("locks_cost_seconds_total", "Time that timing them took from the workers, at most.",
		func(l worker.LockTimes) float64 { return l.Cost.Seconds() })
	spans := func(name, help string, of func(worker.ZoneLock) worker.Spans) {
		e.family(name, "histogram", help)
		for _, m := range masters {
			for _, z := range all[m].Zones {
				e.spans(of(z), "master", strconv.Itoa(m), "zone", z.Zone)
			}
		}
	}
	spans("lock_wait_seconds", "How long a lock was waited for, with what timing takes; since it is watched.", func(z worker.ZoneLock) worker.Spans { return z.Waits })
	spans("lock_hold_seconds", "How long a lock was held, with what timing takes; since it is watched.", func(z worker.ZoneLock) worker.Spans { return z.Holds })
}

func (e *exposition) spans(s worker.Spans, labels ...string) {
	bucket := func(n int, bound string) {
		e.suffixed("_bucket", float64(n), append(slices.Clone(labels), "le", bound)...)
	}
	for _, bound := range lockBounds {
		bucket(s.Below(bound), strconv.FormatFloat(bound.Seconds(), 'g', -1, 64))
	}
	bucket(s.Count(), "+Inf")
	e.suffixed("_sum", s.Sum.Seconds(), labels...)
	e.suffixed("_count", float64(s.Count()), labels...)
}
