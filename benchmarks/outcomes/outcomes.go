// Package outcomes is what the benchmarks that keep a line of JSON for every outcome share: reading them
// again, and the few statistics of their summaries.
package outcomes

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// Read is every outcome in a file of JSON lines, in the order they came.
func Read[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []T
	for dec := json.NewDecoder(f); ; {
		var o T
		if err := dec.Decode(&o); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: outcome %d: %w", path, len(all)+1, err)
		}
		all = append(all, o)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no outcomes", path)
	}
	return all, nil
}

// Load is the machine's load over the last minute; 0 where that is not told.
func Load() (one float64) {
	text, _ := os.ReadFile("/proc/loadavg")
	fmt.Sscan(string(text), &one)
	return one
}

// Wilson is the score interval of a share at 95 %, k of n (Wilson, JASA 22, 1927).
func Wilson(k, n int) (low, high float64) {
	const z = 1.959964
	m, p := float64(n), float64(k)/float64(n)
	centre := (p + z*z/(2*m)) / (1 + z*z/m)
	arm := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(centre-arm, 0), min(centre+arm, 1)
}

// Median is the middle of the values, NaN of none.
func Median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if len(s) == 0 {
		return math.NaN()
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
