// Coverage repeats comparisons whose true ratio is known by construction, and counts how
// often the reported interval holds it; beside it, intervals that are made of batches of
// the same record as if these were independent:
//
//	go build -o ../../bin/moonlap ../../cmd/moonlap && go run . -runs 120
//
// Every outcome is appended to -out as it comes; -summary FILE prints the tables again.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/benchmarks/outcomes"
)

// An interval at 95 %.
type interval struct {
	Low      float64 `json:"low"`
	Estimate float64 `json:"estimate"`
	High     float64 `json:"high"`
}

func (iv interval) holds(x float64) bool { return iv.Low <= x && x <= iv.High }

// The ways to make an interval: moonlap's, and mean ± t of batches.
const (
	reported   = "moonlap"
	oneProcess = "one process's batches"
	clean      = "those not interrupted"
	allClean   = "of all processes, not interrupted"
)

var ways = []string{reported, oneProcess, clean, allClean}

// An outcome is one run: two sides, by each way.
type outcome struct {
	Work    string              `json:"work"`
	Truth   float64             `json:"truth"`
	Ratio   map[string]interval `json:"ratio"` // without moonlap's where it had too few pairs
	NS      map[string]interval `json:"ns"`    // of a call of the first side
	Verdict string              `json:"verdict"`
	Pairs   int                 `json:"pairs"`
	Seconds float64             `json:"seconds"`
	Load    float64             `json:"load"`
	At      time.Time           `json:"at"`
}

const baseUnits = 20

var works = []string{"sum", "branch", "words"}

func main() {
	log.SetFlags(0)
	runs := flag.Int("runs", 120, "comparisons; half of them are of equal sides")
	budget := flag.String("time", "4s", "moonlap's --time")
	moonlap := flag.String("moonlap", "../../bin/moonlap", "program to test")
	out := flag.String("out", "outcomes.jsonl", "where outcomes are appended")
	summary := flag.String("summary", "", "print the tables of such a file, and measure nothing")
	flag.Parse()
	if *summary != "" {
		summarize(*summary)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := repeat(ctx, *moonlap, *budget, *runs, *out); err != nil {
		log.Print(err)
	}
	summarize(*out)
}

// repeat draws a workload and a ratio for each run.
func repeat(ctx context.Context, moonlap, budget string, runs int, path string) error {
	moonlap, err := filepath.Abs(moonlap)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "coverage-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range runs {
		started := time.Now()
		o := outcome{
			Work: works[rand.IntN(len(works))], Load: outcomes.Load(), At: started.UTC().Round(time.Second),
			Ratio: map[string]interval{}, NS: map[string]interval{},
		}
		units := [2]int{baseUnits, baseUnits + i%2}
		o.Truth = float64(units[1]) / float64(units[0])
		if err := o.compare(ctx, moonlap, budget, folder, units); err != nil {
			return err
		}
		o.Seconds = time.Since(started).Seconds()
		line, err := json.Marshal(o)
		if err != nil {
			return err
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "\r%d of %d", i+1, runs)
	}
	fmt.Fprintln(os.Stderr)
	return nil
}

// compare asks moonlap, which also keeps its record.
func (o *outcome) compare(ctx context.Context, moonlap, budget, folder string, units [2]int) error {
	source, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	text, err := os.ReadFile("bench.lua")
	if err != nil {
		return fmt.Errorf("run it in benchmarks/coverage: %w", err)
	}
	kept := filepath.Join(folder, "record.jsonl")
	args := []string{"compare", "--runtime", "luajit", "--time", budget, "--format", "json", "--out", kept}
	for side, n := range units {
		file := filepath.Join(folder, fmt.Sprintf("side%d.lua", side))
		code := strings.Replace(string(text), "run(UNITS)", "run("+strconv.Itoa(n)+")", 1)
		if err := os.WriteFile(file, []byte(code), 0o644); err != nil {
			return err
		}
		args = append(args, file)
	}
	cmd := exec.CommandContext(ctx, moonlap, args...)
	cmd.Env = append(os.Environ(), "COVERAGE_DIR="+source, "COVERAGE_WORK="+o.Work)
	answer, err := cmd.Output()
	if err != nil && len(answer) == 0 {
		return fmt.Errorf("moonlap: %w", err)
	}
	if err := o.read(answer); err != nil {
		return err
	}
	return o.byBatches(kept)
}

// read takes what moonlap reported.
func (o *outcome) read(answer []byte) error {
	var results struct {
		Cases []struct {
			NS *interval `json:"ns_per_call"`
		}
		Comparisons []struct {
			Verdict  string
			Pairs    int
			Ratio    interval
			Warnings []struct{ Code string }
		}
	}
	if err := json.Unmarshal(answer, &results); err != nil {
		return fmt.Errorf("moonlap's answer: %w", err)
	}
	if len(results.Comparisons) != 1 || len(results.Cases) != 2 {
		return fmt.Errorf("moonlap's answer holds no comparison: %.200s", answer)
	}
	c := results.Comparisons[0]
	o.Verdict, o.Pairs = c.Verdict, c.Pairs
	tooFew := false
	for _, w := range c.Warnings {
		tooFew = tooFew || w.Code == "few_processes"
	}
	if !tooFew && c.Ratio.Low > 0 {
		o.Ratio[reported] = c.Ratio
	}
	if ns := results.Cases[0].NS; ns != nil {
		o.NS[reported] = *ns
	}
	return nil
}
