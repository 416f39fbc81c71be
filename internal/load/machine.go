package load

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/host"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/quiet"
)

// A watcher looks at the machine while load is on a server. The zero value sees nothing.
type watcher struct {
	sampler *host.Sampler // nil where there are no yardsticks
	zero    time.Time     // when the first slice began
}

// begin notes when the first slice began, in ns by CLOCK_MONOTONIC.
func (w *watcher) begin(atNS float64) {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) == nil {
		w.zero = time.Now().Add(-time.Duration(float64(now.Nano()) - atNS))
	}
}

// beside is what the yardsticks took while a slice ran, by kind in ns; nil of a thread's slice beside which another one
// tells it.
func (w *watcher) beside(s record.LoadSlice) map[string][]float64 {
	if s.Thread != 0 || s.Warmup || w.zero.IsZero() {
		return nil
	}
	from := w.zero.Add(time.Duration(s.AtNS))
	to := from.Add(time.Duration(s.NS))
	var times map[string][]float64
	for _, l := range w.sampler.Since(from) {
		if l.At.After(to) {
			break
		}
		if times == nil {
			times = map[string][]float64{}
		}
		times["core"], times["cache"] = append(times["core"], l.Core), append(times["cache"], l.Cache)
	}
	return times
}

// tracked adds to what is known of the machine's best what a slice says of it.
func tracked(t *quiet.Tracker, s record.LoadSlice) {
	if len(s.Yardsticks) > 0 {
		t.Add(&record.ProcessRecord{Batches: []record.Batches{{Yardsticks: s.Yardsticks}}})
	}
}

// bestOf is the best that a record of load knows of.
func bestOf(rec *record.Record) quiet.Best {
	t := &quiet.Tracker{Before: rec.Run.Yardsticks}
	for _, s := range rec.Load.Slices {
		tracked(t, s)
	}
	return t.Best()
}

// leastQuiet is the share of the looks that are quiet where a side was not disturbed all the time.
const leastQuiet = 0.1

// quietOf is what the yardsticks say of the machine while a side ran; nil where none was timed. latency is its mean.
func quietOf(slices []record.LoadSlice, best quiet.Best, latency float64) *record.Quiet {
	var looks []quiet.Moment
	for _, s := range slices {
		looks = append(looks, best.Moments(s.Yardsticks)...)
	}
	if len(looks) == 0 {
		return nil
	}
	q := &record.Quiet{AllNS: latency}
	var slower []float64
	for _, l := range looks {
		if l.Quiet {
			q.Share += 1 / float64(len(looks))
		} else {
			slower = append(slower, l.Slower)
		}
	}
	q.Disturbed = q.Share < leastQuiet
	if len(slower) > 0 {
		q.SlowerLow, q.SlowerHigh = estimate.Quantile(slower, 0.10), estimate.Quantile(slower, 0.90)
	}
	return q
}
