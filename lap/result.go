package lap

import "time"

// A Result is what a benchmark or stopwatch has measured: a [Histogram] of ns with
// the overhead taken off, and what is known about that overhead. A lap shorter than
// the overhead counts as 0; only the mean takes it as it was.
type Result struct {
	*Histogram
	Clock      string  // "monotonic", "tsc", "cntvct"
	Overhead   float64 // of timing one lap or span, ns; already taken off
	OverheadPM float64 // ± of it, ns
	Quiet      *Quiet  // what yardsticks saw; nil without [Benchmark.Watch]
}

func newResult(t *tally, c clock, overhead calibration) *Result {
	scale := c.scale()
	return &Result{
		Histogram:  t.histogram(overhead.cost, scale),
		Clock:      c.name,
		Overhead:   overhead.cost * scale,
		OverheadPM: overhead.pm * scale,
	}
}

// Summary is the result ready to print, with at most bins bars.
func (r *Result) Summary(bins int) *Summary { return r.note(r.Histogram.Summary(bins)) }

// SummaryClamp is Summary with bars for the values from lowest to highest only.
func (r *Result) SummaryClamp(bins int, lowest, highest time.Duration) *Summary {
	return r.note(r.Histogram.SummaryClamp(bins, lowest, highest))
}

func (r *Result) note(s *Summary) *Summary {
	s.Clock, s.Overhead, s.OverheadPM = r.Clock, r.Overhead, r.OverheadPM
	if q := r.Quiet; q != nil {
		s.Quiet, s.QuietP50, s.Slower = q.Share, float64(q.Percentile(50)), q.Slower
	}
	return s
}

// String draws the result with ten bars.
func (r *Result) String() string { return r.Summary(10).String() }
