package record

import (
	"fmt"
	"io"

	"github.com/moonlap/moonlap/internal/jsontext"
)

// WriteBencher writes the results in Bencher's metric format, which 'bencher run --adapter json' reads: by case, its latency in ns with
// the ends of its interval. A case without a figure is left out.
func WriteBencher(w io.Writer, r *Results) error {
	type metric struct {
		Value float64 `json:"value"`
		Lower float64 `json:"lower_value"`
		Upper float64 `json:"upper_value"`
	}
	all := map[string]map[string]metric{}
	for _, c := range r.Cases {
		if d := c.NSPerCall; d != nil {
			all[c.Name] = map[string]metric{"latency": {d.Estimate, d.Low, d.High}}
		}
	}
	return writeIndented(w, all)
}

// WriteGitHubBenchmark writes the results as github-action-benchmark reads them with its tool customSmallerIsBetter. A case without a
// figure is left out.
func WriteGitHubBenchmark(w io.Writer, r *Results) error {
	type entry struct {
		Name  string  `json:"name"`
		Unit  string  `json:"unit"`
		Value float64 `json:"value"`
		Range string  `json:"range"`
		Extra string  `json:"extra"`
	}
	all := []entry{}
	for _, c := range r.Cases {
		if d := c.NSPerCall; d != nil {
			all = append(all, entry{c.Name, "ns/call", d.Estimate, fmt.Sprintf("%.4g to %.4g", d.Low, d.High), fmt.Sprintf("%d processes", c.Processes)})
		}
	}
	return writeIndented(w, all)
}

func writeIndented(w io.Writer, v any) error {
	out := jsontext.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(v)
}
