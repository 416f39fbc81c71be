package watch

import (
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/metrics"
)

// Metrics keeps what a page for Prometheus shows: the last snapshot, totals for each worker since it was first seen, and the
// evidence of each nginx's workers.
type Metrics struct {
	lock     sync.Mutex
	last     Snapshot
	totals   map[int]*totals      // by process ID
	evidence map[int]evidence.Set // by the master's
}

// totals are what was seen of a worker since it is watched.
type totals struct {
	loop     histogram
	evidence evidence.Set
}

// waitBounds are the upper bounds of the histogram's buckets; nginx's clock ticks by 1 to 10 ms.
var waitBounds = []time.Duration{
	0, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
}

// A histogram counts values up to each of waitBounds.
type histogram struct {
	counts []uint64 // one more than bounds
	sum    time.Duration
}

func (h *histogram) add(values []time.Duration) {
	if h.counts == nil {
		h.counts = make([]uint64, len(waitBounds)+1)
	}
	for _, v := range values {
		i, _ := slices.BinarySearch(waitBounds, v)
		h.counts[i]++
		h.sum += v
	}
}

// metrics writes it.
func (h *histogram) metrics(p *metrics.Page, labels ...string) {
	counts := h.counts
	if counts == nil {
		counts = make([]uint64, len(waitBounds)+1)
	}
	total := 0
	upTo := make([]int, len(counts))
	for i, n := range counts {
		total += int(n)
		upTo[i] = total
	}
	p.Histogram(waitBounds, func(i int) int { return upTo[i] }, total, h.sum, labels...)
}

// Observe takes in the snapshot of another interval.
func (m *Metrics) Observe(s Snapshot) {
	m.lock.Lock()
	defer m.lock.Unlock()
	all := map[int]*totals{}
	for _, r := range s.Workers {
		t := m.totals[r.PID]
		if t == nil {
			t = &totals{}
		}
		t.loop.add(r.moment.waits)
		t.evidence = t.evidence.Merge(r.Evidence)
		all[r.PID] = t
	}
	m.last, m.totals = s, all       // workers that ended are forgotten
	since := map[int]evidence.Set{} // of those that are still watched
	for _, one := range s.Masters {
		since[one.PID] = m.evidence[one.PID].Merge(one.Evidence)
	}
	m.evidence = since
}

// WriteTo writes the page in Prometheus's text format, version 0.0.4.
func (m *Metrics) WriteTo(w io.Writer) (int64, error) {
	m.lock.Lock()
	var e exposition
	e.snapshot(m.last, m.totals)
	for _, master := range slices.Sorted(maps.Keys(m.evidence)) {
		m.evidence[master].Metrics(&e.Page, "master", strconv.Itoa(master))
	}
	m.lock.Unlock()
	return e.WriteTo(w)
}
