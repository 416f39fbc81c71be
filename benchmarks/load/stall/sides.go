package main

import (
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/benchmarks/load/target"
	"github.com/moonlap/moonlap/lap"
)

// A side is a way to learn the quantiles of latency.
type side struct {
	name string
	run  func() (quantiles, error)
}

func runTruth(program string, s *target.Server, seconds int) (q quantiles, err error) {
	_, port, _ := strings.Cut(s.Address("http"), ":")
	cmd := target.Pinned(program, port, strconv.Itoa(rate), strconv.Itoa(seconds), strconv.Itoa(sockets))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return q, err
	}
	var values []float64
	for line := range strings.Lines(string(out)) {
		ns, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
		if err != nil {
			return q, err
		}
		values = append(values, ns)
	}
	slices.Sort(values)
	for i, p := range percentiles {
		q[i] = values[int(math.Ceil(p/100*float64(len(values))))-1]
	}
	return q, nil
}

// runEngine merges the corrected histograms of all slices.
func runEngine(s *target.Server, fields string) (q quantiles, err error) {
	var sum *lap.Histogram
	_, err = s.Engine("http", "", fields, func(line target.Slice) error {
		h, err := lap.Decode(line.Latency)
		if err != nil || sum == nil {
			sum = h
			return err
		}
		return sum.Merge(h)
	})
	if err == nil && sum == nil {
		err = errors.New("no slice")
	}
	if err != nil {
		return q, err
	}
	for i, p := range percentiles {
		q[i] = float64(sum.Percentile(p))
	}
	return q, nil
}
