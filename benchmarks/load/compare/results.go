package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/sequential"
)

// A result is what one run said.
type result struct {
	Question string             `json:"question"` // equal, slower or wrk
	At       time.Time          `json:"at"`
	Load     float64            `json:"load"`              // average of the machine, over a minute, at the end
	Verdict  string             `json:"verdict,omitempty"` // slower or faster by any metric, or neither
	Away     map[string]float64 `json:"away"`              // the ratio of the sides less 1, by metric
}

func resultOf(list []record.Comparison) result {
	r := result{Away: map[string]float64{}, Verdict: "neither"}
	for _, c := range list {
		if c.Verdict == record.Slower || c.Verdict == record.Faster {
			r.Verdict = string(c.Verdict)
		}
		if c.Ratio.Estimate > 0 {
			r.Away[c.Metric] = c.Ratio.Estimate - 1
		}
	}
	return r
}

// keep appends a result to a file.
func keep(file string, r result) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewEncoder(f).Encode(r)
}

func read(file string) (of map[string][]result, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	of = map[string][]result{}
	scan := bufio.NewScanner(f)
	for n := 1; scan.Scan(); n++ {
		var r result
		if err := json.Unmarshal(scan.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		of[r.Question] = append(of[r.Question], r)
	}
	return of, scan.Err()
}

// printTable counts all results of a file.
func printTable(file string) error {
	of, err := read(file)
	if err != nil {
		return err
	}
	fmt.Print("| question | outcome | wanted |\n| --- | --- | --- |\n")
	if list := of["equal"]; len(list) > 0 {
		fmt.Printf("| false alarms of equal sides, by any metric | %s | at most 5 %% |\n",
			share(list, func(r result) bool { return r.Verdict != "neither" }))
		for _, m := range []struct{ metric, name string }{
			{sequential.MetricRate, "requests a second"}, {sequential.MetricCPU, "server CPU"}, {"p50", "p50"}, {"p99", "p99"},
		} {
			fmt.Printf("| %s of equal sides: ratio away from 1 | %s | nine of ten below 0.5 %% |\n", m.name, spread(list, m.metric))
		}
	}
	if list := of["slower"]; len(list) > 0 {
		var ratios []float64
		for _, r := range list {
			ratios = append(ratios, r.Away[sequential.MetricCPU])
		}
		fmt.Printf("| more CPU time, found in at most 30 s | %s; measured %.2f %% (median) | nine of ten |\n",
			share(list, func(r result) bool { return r.Verdict == string(record.Slower) }), 100*estimate.Median(ratios))
	}
	if list := of["wrk"]; len(list) > 0 {
		fmt.Printf("| the same path twice with wrk, 5 s each: away from each other | %s | |\n", spread(list, sequential.MetricRate))
	}
	fmt.Println()
	for _, question := range []string{"equal", "slower", "wrk"} {
		if list := of[question]; len(list) > 0 {
			var loads []float64
			for _, r := range list {
				loads = append(loads, r.Load)
			}
			fmt.Printf("%s: %d runs from %s to %s, load average %.1f to %.1f, median %.1f\n", question, len(list),
				list[0].At.Format("2006-01-02 15:04"), list[len(list)-1].At.Format("2006-01-02 15:04 MST"),
				slices.Min(loads), slices.Max(loads), estimate.Median(loads))
		}
	}
	return nil
}

func share(list []result, is func(result) bool) string {
	n := 0
	for _, r := range list {
		if is(r) {
			n++
		}
	}
	of := estimate.Share(n, len(list))
	return fmt.Sprintf("%d of %d (%.1f to %.1f %%)", n, len(list), 100*of.Low, 100*of.High)
}

func spread(list []result, metric string) string {
	var away []float64
	for _, r := range list {
		if x, ok := r.Away[metric]; ok {
			away = append(away, math.Abs(math.Log1p(x)))
		}
	}
	if len(away) == 0 {
		return "not measured"
	}
	return fmt.Sprintf("median %.2f %%, nine of ten below %.2f %%, most %.2f %%",
		100*estimate.Quantile(away, 0.5), 100*estimate.Quantile(away, 0.9), 100*slices.Max(away))
}
