package lapplot

import (
	"iter"
	"time"

	"github.com/moonlap/moonlap/lap"
)

// Laps are what is plotted under one name: the distribution of times and, where their
// order is known, their course.
type Laps struct {
	name      string
	histogram *lap.Histogram // nil: of samples
	samples   []float64
	course    *course // nil: the order is not known
	negative  int64
	unusable  int // samples that are no finite number
}

// NewLaps are laps that [Laps.Add] adds one by one, in order: any number of them, in 0.4 MB.
func NewLaps(name string) *Laps {
	c := newCourse(mostColumns)
	return &Laps{name: name, histogram: lap.NewHistogram(), course: &c}
}

// Add adds the next lap. It allocates nothing. A negative lap counts as 0 in the density
// and the percentiles, which say so; the timeline has it as it is.
func (l *Laps) Add(d time.Duration) {
	if d < 0 {
		l.negative++
	}
	l.histogram.Record(d)
	l.course.add(d)
}

// Collect makes laps of what a sequence yields, in order. For a slice it is
// slices.Values(durations).
func Collect(name string, durations iter.Seq[time.Duration]) *Laps {
	l := NewLaps(name)
	for d := range durations {
		l.Add(d)
	}
	return l
}

// FromHistogram makes laps of a histogram, which knows no order: they have no timeline.
// The Result of a lap.Benchmark or a lap.Stopwatch holds one.
func FromHistogram(name string, h *lap.Histogram) *Laps {
	return &Laps{name: name, histogram: h}
}

// FromSamples makes laps of times in ns, in order, which may be fractions. What is no finite
// number is left out, and the charts say so.
func FromSamples(name string, ns []float64) *Laps {
	l := &Laps{name: name}
	for _, x := range ns {
		if finite(x) {
			l.samples = append(l.samples, x)
		} else {
			l.unusable++
		}
	}
	return l
}

// Name is the laps' name.
func (l *Laps) Name() string { return l.name }

// Count is the number of laps that can be drawn.
func (l *Laps) Count() int64 {
	if l.histogram == nil {
		return int64(len(l.samples))
	}
	return l.histogram.Count()
}

func (l *Laps) distribution() distribution {
	if l.histogram == nil {
		return ofSamples(l.samples)
	}
	d := ofHistogram(l.histogram)
	if l.negative > 0 {
		d.min, d.max = max(d.min, 0), max(d.max, 0)
	}
	return d
}

// ordered are the laps as points in order; nil when their order is not known.
func (l *Laps) ordered() []Point {
	switch {
	case l.course != nil:
		return l.course.points()
	case l.histogram != nil:
		return nil
	}
	points := make([]Point, len(l.samples))
	for i, x := range l.samples {
		points[i] = At(float64(i+1), x)
	}
	return points
}
