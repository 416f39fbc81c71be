package stat

import (
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/lap"
)

// laps merges what the case's VMs timed call by call; nil when they did not. A
// histogram that can't be read is left out, with a warning in lapFaults.
func (f *facts) laps() *record.LapsResult {
	calls, service, response := f.merged(record.LapCalls), f.merged(record.LapService), f.merged(record.LapResponse)
	main := calls
	if main.lines == 0 {
		main = service
	}
	if main.lines == 0 {
		main = response
	}
	if main.count == 0 {
		return nil
	}
	r := &record.LapsResult{
		Count: main.count, MeanNS: main.sum / float64(main.count),
		Calls: calls.percentiles(), Service: service.percentiles(), Response: response.percentiles(),
		OverheadNS: main.overheadNS(), Late: response.late,
	}
	if main.histogram != nil {
		r.Histogram = main.histogram.Encode()
	}
	if calls.lines == 0 && main.elapsed > 0 {
		// The workers of a process run at once, processes one after the other.
		r.PerSecond = float64(main.count) / main.elapsed * 1e9 * main.atOnce()
	}
	return r
}

// mergedLaps are the laps of one kind, of all VMs of a case.
type mergedLaps struct {
	histogram *lap.Histogram // nil when none could be read
	lines     int
	processes map[int]bool
	count     int64
	sum       float64 // of all laps
	min, max  float64
	elapsed   float64 // of all VMs together
	late      int64
	overheads []record.Interval
}

func (f *facts) merged(kind string) *mergedLaps {
	m := &mergedLaps{processes: map[int]bool{}}
	for _, v := range f.vms {
		for _, l := range v.said.Laps {
			if l.Kind != kind || l.Count <= 0 {
				continue
			}
			if err := m.add(l); err != nil {
				f.lapFaults = append(f.lapFaults, fmt.Errorf("process %d: %w", l.Process, err))
			}
		}
	}
	return m
}

func (m *mergedLaps) add(l record.Laps) error {
	h, err := lap.Decode(l.Histogram)
	if err != nil {
		return err
	}
	if m.histogram == nil {
		m.histogram = h
	} else if err := m.histogram.Merge(h); err != nil {
		return err
	}
	// A lap shorter than the overhead is one that the clock's steps cut short.
	if least := max(l.MinNS, 0); m.lines == 0 || least < m.min {
		m.min = least
	}
	if m.lines == 0 || l.MaxNS > m.max {
		m.max = l.MaxNS
	}
	m.lines++
	m.processes[l.Process] = true
	m.count += l.Count
	m.sum += l.MeanNS * float64(l.Count)
	m.elapsed += l.ElapsedNS
	m.late += l.Late
	m.overheads = append(m.overheads, record.Interval{
		Estimate: l.OverheadNS, Low: l.OverheadNS - l.OverheadPM, High: l.OverheadNS + l.OverheadPM,
	})
	return nil
}

// atOnce is how many VMs ran at the same time.
func (m *mergedLaps) atOnce() float64 { return float64(m.lines) / float64(len(m.processes)) }

// overheadNS is what was taken off each lap: the median over VMs, in an interval that
// holds every VM's own.
func (m *mergedLaps) overheadNS() record.Interval {
	var estimates []float64
	iv := m.overheads[0]
	for _, o := range m.overheads {
		estimates = append(estimates, o.Estimate)
		iv.Low, iv.High = min(iv.Low, o.Low), max(iv.High, o.High)
	}
	iv.Estimate = estimate.Median(estimates)
	return iv
}

func (m *mergedLaps) percentiles() *record.Percentiles {
	if m.histogram == nil {
		return nil
	}
	// The ends are exact in the record, and only buckets in the histogram.
	at := func(p float64) float64 {
		return min(max(float64(m.histogram.Percentile(p)), m.min), m.max)
	}
	return &record.Percentiles{
		Min: m.min, P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), P9999: at(99.99), Max: m.max,
	}
}

// lapBins puts the merged histogram into bins for drawing, as [BinsOf] does with values.
func lapBins(text string) []record.Bin {
	h, err := lap.Decode(text)
	if err != nil || h.Count() == 0 {
		return nil
	}
	var values []float64
	var counts []int64
	for b := range h.Buckets {
		values = append(values, float64(b.Low+(b.High-b.Low)/2))
		counts = append(counts, b.Count)
	}
	at := func(p float64) float64 { return float64(h.Percentile(p) / time.Nanosecond) }
	return estimate.BinsOfCounts(values, counts, estimate.BinsEnd(at(90), at(100*estimate.BinQuantile)))
}
