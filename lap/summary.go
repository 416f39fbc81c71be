package lap

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// A Summary is a distribution ready to print; times in ns.
type Summary struct {
	Count int64

	Minimum, Average, Maximum  float64
	P50, P90, P99, P999, P9999 float64
	Bins                       []Bin
	Width                      int    // of the longest bar in characters
	Clock                      string // of a [Result]; empty otherwise
	Overhead, OverheadPM       float64
	// Of a [Result] whose yardsticks saw a disturbance: the share of the laps that ran in quiet moments, their
	// median, and by how much the yardsticks took longer beside the others. Quiet is 0 where they were not timed.
	Quiet, QuietP50, Slower float64
}

// A Bin is one bar: Count values from Start up to the next bin's.
type Bin struct {
	Start    float64
	Count    int64
	Width    float64 // 0…1, of the longest bar
	AndAbove bool    // holds values too large for a bar of their own
}

// Summary cuts the values up to the 99.9th percentile into at most bins bars of a
// round width.
func (h *Histogram) Summary(bins int) *Summary {
	return h.summarize(bins, float64(h.Min()), float64(h.Percentile(99.9)))
}

// SummaryClamp is Summary with bars for the values from lowest to highest only; what
// lies outside counts in the first and last bar.
func (h *Histogram) SummaryClamp(bins int, lowest, highest time.Duration) *Summary {
	return h.summarize(bins, float64(lowest), float64(highest))
}

func (h *Histogram) summarize(bins int, lowest, highest float64) *Summary {
	s := &Summary{
		Count:   h.Count(),
		Minimum: float64(h.Min()), Average: h.Mean(), Maximum: float64(h.Max()),
		P50: float64(h.Percentile(50)), P90: float64(h.Percentile(90)), P99: float64(h.Percentile(99)),
		P999: float64(h.Percentile(99.9)), P9999: float64(h.Percentile(99.99)),
		Width: 40,
	}
	if s.Count == 0 || bins < 1 {
		return s
	}
	_, finest := h.bucket(h.index(int64(max(0, highest))))
	start, step := niceSteps(lowest, highest, float64(finest), bins)
	last := min(bins-1, max(0, int((highest-start)/step)))
	s.Bins = make([]Bin, last+1)
	for i := range s.Bins {
		s.Bins[i].Start = start + float64(i)*step
	}
	s.Bins[0].Start = max(lowest, s.Bins[0].Start)
	for b := range h.Buckets {
		middle := min(max(float64(b.Low+(b.High-b.Low)/2), s.Minimum), s.Maximum)
		i := int(min(max(0, (middle-start)/step), float64(last+1)))
		if i > last {
			i = last
			s.Bins[i].AndAbove = true
		}
		s.Bins[i].Count += b.Count
	}
	var longest int64
	for _, b := range s.Bins {
		longest = max(longest, b.Count)
	}
	for i := range s.Bins {
		s.Bins[i].Width = float64(s.Bins[i].Count) / float64(longest)
	}
	return s
}

// niceSteps is a start and a step of 1, 2 or 5 times a power of ten, at least finest,
// such that bins steps reach from lowest to highest.
func niceSteps(lowest, highest, finest float64, bins int) (start, step float64) {
	for power := math.Pow10(int(math.Floor(math.Log10(finest)))); ; power *= 10 {
		for _, factor := range []float64{1, 2, 5} {
			step = factor * power
			start = math.Floor(lowest/step) * step
			if step >= finest && start+float64(bins)*step > highest {
				return start, step
			}
		}
	}
}

// Divide makes a summary of n repetitions a lap one of a single repetition. Overhead
// remains that of a lap. An n below 1 changes nothing.
func (s *Summary) Divide(n int) {
	if n < 1 {
		return
	}
	for _, v := range []*float64{&s.Minimum, &s.Average, &s.Maximum, &s.P50, &s.P90, &s.P99, &s.P999, &s.P9999, &s.QuietP50} {
		*v /= float64(n)
	}
	for i := range s.Bins {
		s.Bins[i].Start /= float64(n)
	}
}

// WriteStatsTo writes the figures without the bars.
func (s *Summary) WriteStatsTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, s.StringStats())
	return int64(n), err
}

// WriteTo writes the figures and the bars.
func (s *Summary) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, s.String())
	return int64(n), err
}

// StringStats is the figures without the bars.
func (s *Summary) StringStats() string {
	if s.Count == 0 {
		return "  no laps\n"
	}
	text := fmt.Sprintf("  avg %s;  min %s;  p50 %s;  max %s;\n  p90 %s;  p99 %s;  p999 %s;  p9999 %s;\n",
		duration(s.Average), duration(s.Minimum), duration(s.P50), duration(s.Maximum),
		duration(s.P90), duration(s.P99), duration(s.P999), duration(s.P9999))
	if s.Clock != "" {
		text += fmt.Sprintf("  overhead of %s ±%s a lap taken off;  clock %s\n",
			duration(s.Overhead), duration(s.OverheadPM), s.Clock)
	}
	if s.Quiet > 0 && s.Quiet < 1 {
		text += fmt.Sprintf("  %.0f %% of the laps in quiet moments, p50 %s;  the machine slowed by %.0f %% in the others\n",
			100*s.Quiet, duration(s.QuietP50), 100*s.Slower)
	}
	return text
}

// String is the figures and the bars.
func (s *Summary) String() string {
	var text strings.Builder
	text.WriteString(s.StringStats())
	widest := 3
	for _, b := range s.Bins {
		widest = max(widest, len(fmt.Sprint(b.Count)))
	}
	for _, b := range s.Bins {
		above := " "
		if b.AndAbove {
			above = "+"
		}
		fmt.Fprintf(&text, " %10s%s[%*d] %s\n", duration(b.Start), above, widest, b.Count, bar(b.Width*float64(s.Width)))
	}
	return text.String()
}

// bar draws a length in characters, to the half.
func bar(length float64) string {
	text := strings.Repeat("█", int(length))
	if length-math.Floor(length) >= 0.5 {
		text += "▌"
	}
	return text
}

// duration prints ns with 3 significant digits, below 1 ns too.
func duration(ns float64) string {
	// By the rounded value, lest 999.9 ns become "1e+03ns".
	size := math.Abs(ns) * 1.0005
	switch {
	case size < 1e3:
		return fmt.Sprintf("%.3gns", ns)
	case size < 1e6:
		return fmt.Sprintf("%.3gµs", ns/1e3)
	case size < 1e9:
		return fmt.Sprintf("%.3gms", ns/1e6)
	case size < 1e12:
		return fmt.Sprintf("%.3gs", ns/1e9)
	}
	return fmt.Sprintf("%.0fs", ns/1e9)
}
