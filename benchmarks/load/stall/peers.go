package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/moonlap/moonlap/benchmarks/load/target"
)

const connections = 32

// A peer is another load generator that can send at a rate.
type peer struct {
	program string
	least   int // seconds that it takes to say anything
	run     func(args func(...string) ([]byte, error), s *target.Server, seconds int) (outcome, error)
}

var peers = []peer{
	{"wrk2", 10, runWrk2}, // it counts nothing in its first 10 s
	{"oha", 0, runOha},
	{"bombardier", 0, runBombardier},
	{"h2load", 0, runH2load},
}

// installed are the peers on this machine; the others are named.
func installed(s *target.Server, seconds int) (sides []side) {
	for _, p := range peers {
		if _, err := exec.LookPath(p.program); err != nil {
			fmt.Printf("%s: not measured, as it is not installed\n\n", p.program)
			continue
		}
		start := func(args ...string) ([]byte, error) {
			cmd := target.Pinned(append([]string{p.program}, args...)...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, os.Stderr
			err := cmd.Run()
			return out.Bytes(), err
		}
		sides = append(sides, side{p.program, func() (outcome, error) { return p.run(start, s, p.least+seconds) }})
	}
	return sides
}

var spectrum = regexp.MustCompile(`(?m)^ *([0-9.]+)% +([0-9.]+)(us|ms|s)$`)

func runWrk2(start func(...string) ([]byte, error), s *target.Server, seconds int) (outcome, error) {
	out, err := start("-t1", fmt.Sprint("-c", connections), fmt.Sprintf("-d%ds", seconds), fmt.Sprint("-R", rate), "--latency", s.URL("http"))
	o := outcome{printed: map[float64]float64{}}
	for _, m := range spectrum.FindAllSubmatch(out, -1) {
		p, _ := strconv.ParseFloat(string(m[1]), 64)
		length, wrong := time.ParseDuration(string(m[2]) + string(m[3]))
		o.printed[p] = float64(length)
		err = errors.Join(err, wrong)
	}
	return o, err
}

// runOha has it correct for coordinated omission, which it does not without being told.
func runOha(start func(...string) ([]byte, error), s *target.Server, seconds int) (outcome, error) {
	out, err := start("--no-tui", "-c", fmt.Sprint(connections), "-z", fmt.Sprintf("%ds", seconds), "-q", fmt.Sprint(rate),
		"--latency-correction", "--output-format", "json", s.URL("http"))
	var said struct{ LatencyPercentiles map[string]float64 }
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	o := outcome{printed: map[float64]float64{}}
	for name, seconds := range said.LatencyPercentiles {
		if p, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64); err == nil {
			o.printed[p] = seconds * 1e9
		}
	}
	return o, err
}

func runBombardier(start func(...string) ([]byte, error), s *target.Server, seconds int) (outcome, error) {
	out, err := start("-c", fmt.Sprint(connections), "-d", fmt.Sprintf("%ds", seconds), "-r", fmt.Sprint(rate), "-l", "-p", "r", "-o", "json", s.URL("http"))
	var said struct {
		Result struct {
			Latency struct{ Percentiles map[string]float64 } // µs
		}
	}
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	o := outcome{printed: map[float64]float64{}}
	for name, us := range said.Result.Latency.Percentiles {
		if p, err := strconv.ParseFloat(name, 64); err == nil {
			o.printed[p] = us * 1e3
		}
	}
	return o, err
}

// runH2load reads its log of all requests, as it prints no percentiles.
func runH2load(start func(...string) ([]byte, error), s *target.Server, seconds int) (o outcome, err error) {
	log := filepath.Join(s.Folder, "h2load.log")
	os.Remove(log) // it appends
	if _, err := start("--h1", "-t1", "-c", fmt.Sprint(connections), "-D", fmt.Sprint(seconds), fmt.Sprintf("--rps=%g", float64(rate)/connections),
		"--log-file="+log, s.URL("http")); err != nil {
		return o, err
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return o, err
	}
	if o.latency, err = newHistogram(); err != nil {
		return o, err
	}
	for line := range strings.Lines(string(text)) { // when it began, the status, µs
		fields := strings.Fields(line)
		us, err := strconv.ParseInt(fields[len(fields)-1], 10, 64)
		if err != nil {
			return o, fmt.Errorf("%s: %q", log, line)
		}
		o.latency.Record(time.Duration(us) * time.Microsecond)
	}
	return o, nil
}
