package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/moonlap/moonlap/benchmarks/load/target"
	"github.com/moonlap/moonlap/lap"
)

// A side is a way to learn of latency.
type side struct {
	name string
	run  func() (outcome, error)
}

// An outcome is what a side says of a run.
type outcome struct {
	latency, raw *lap.Histogram
	printed      map[float64]float64 // ns by percentile, of one that tells no more
	sent         float64             // requests, where the side has a rate
}

// at is a percentile, in ns; told is false where the side does not say.
func (o outcome) at(p float64) (ns float64, told bool) {
	if o.latency != nil {
		return float64(o.latency.Percentile(p)), true
	}
	ns, told = o.printed[p]
	return ns, told
}

// newHistogram has the buckets of the engine's.
func newHistogram() (*lap.Histogram, error) { return lap.NewHistogramRange(64, time.Hour, 3) }

func runTruth(program string, s *target.Server, seconds int) (o outcome, err error) {
	_, port, _ := strings.Cut(s.Address("http"), ":")
	cmd := target.Pinned(program, port, strconv.Itoa(rate), strconv.Itoa(seconds), strconv.Itoa(sockets))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return o, err
	}
	if o.latency, err = newHistogram(); err != nil {
		return o, err
	}
	for line := range strings.Lines(string(out)) {
		ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return o, err
		}
		o.latency.Record(time.Duration(ns))
		o.sent++
	}
	return o, nil
}

// runEngine merges the histograms of all slices.
func runEngine(s *target.Server, fields string) (o outcome, err error) {
	_, err = s.Engine("http", "", fields, func(line target.Slice) error {
		if strings.Contains(fields, "rate=") {
			o.sent += line.Requests
		}
		if err := merge(&o.latency, line.Latency); err != nil {
			return err
		}
		return merge(&o.raw, line.Raw)
	})
	if err == nil && o.latency == nil {
		err = errors.New("no slice")
	}
	return o, err
}

func merge(sum **lap.Histogram, text string) error {
	h, err := lap.Decode(text)
	if err != nil || *sum == nil {
		*sum = h
		return err
	}
	return (*sum).Merge(h)
}
