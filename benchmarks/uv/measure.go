package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"
)

// An outcome is what one process told, or why it could not.
type outcome struct {
	Work       string    `json:"work"`
	Side       string    `json:"side"`
	Round      int       `json:"round"`
	Seconds    float64   `json:"seconds,omitempty"` // CPU time
	Operations float64   `json:"operations,omitempty"`
	Error      string    `json:"error,omitempty"`
	Load       float64   `json:"load"` // of the machine, one minute's average
	At         time.Time `json:"at"`
}

// measure runs every work under every side once a round: works in random order, and the three
// sides of a work right after each other, in random order too. What has failed once is not tried
// again.
func measure(ctx context.Context, list []work, rounds int, scale float64, out string) ([]outcome, error) {
	record, err := recorder(out)
	if err != nil {
		return nil, err
	}
	s, err := newSides(ctx, list)
	if s != nil {
		defer s.close()
	}
	if err != nil {
		return nil, err
	}
	var all []outcome
	failed := map[[2]string]bool{}
	for round := range rounds {
		for turn, i := range rand.Perm(len(list)) {
			w := list[i]
			fmt.Fprintf(os.Stderr, "\r\033[Kround %d of %d, %d of %d: %s", round+1, rounds, turn+1, len(list), w.Name)
			for _, j := range rand.Perm(len(sideNames)) {
				key := [2]string{w.Name, sideNames[j]}
				if failed[key] {
					continue
				}
				o := outcome{Work: w.Name, Side: sideNames[j], Round: round + 1, Load: load(), At: time.Now().UTC().Round(time.Second)}
				n := max(1, int(float64(w.Operations)*scale))
				o.Seconds, o.Operations, err = s.run(ctx, o.Side, w, n)
				if ctx.Err() != nil {
					return all, ctx.Err()
				}
				if err != nil {
					o.Error, failed[key] = err.Error(), true
				}
				all = append(all, o)
				if err := record(o); err != nil {
					return all, err
				}
			}
		}
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	return all, nil
}

// recorder appends outcomes to a file, if one is wanted.
func recorder(path string) (func(outcome) error, error) {
	if path == "" {
		return func(outcome) error { return nil }, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	enc := json.NewEncoder(f)
	return func(o outcome) error { return enc.Encode(o) }, nil
}

func readOutcomes(path string) (all []outcome, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for dec := json.NewDecoder(f); ; {
		var o outcome
		if err := dec.Decode(&o); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, o)
	}
}

func load() (one float64) {
	text, _ := os.ReadFile("/proc/loadavg")
	fmt.Sscan(string(text), &one)
	return one
}
