package stat

import (
	"maps"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// metricMedians are a process's own figures of what its batches report, by unit; nil
// where they report nothing.
func metricMedians(p *record.ProcessRecord) map[string]float64 {
	var medians map[string]float64
	for _, m := range p.Metrics {
		if len(m.Values) == 0 {
			continue
		}
		if medians == nil {
			medians = map[string]float64{}
		}
		medians[m.Unit] = estimate.Median(m.Values)
	}
	return medians
}

// metricsOf are the metrics of a case over its processes, in order of their units.
func metricsOf(processes []record.ProcessResult) []record.MetricResult {
	values := map[string][]float64{}
	for _, p := range processes {
		for unit, x := range p.Metrics {
			values[unit] = append(values[unit], x)
		}
	}
	var metrics []record.MetricResult
	for _, unit := range slices.Sorted(maps.Keys(values)) {
		iv, _ := estimate.MedianInterval(values[unit], estimate.Level)
		metrics = append(metrics, record.MetricResult{Unit: unit, Interval: iv})
	}
	return metrics
}
