// Package whole turns runs of whole commands into results and comparisons.
package whole

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// Summarize turns a record of whole commands into results. Where the run compared them in
// turns, every command is compared with the first: by wall time, without start-up where
// all have a twin, and whole, and by CPU time. All these intervals hold together.
func Summarize(rec *record.Record) *record.CommandResults {
	res := &record.CommandResults{Results: stat.Summarize(rec), Commands: []record.CommandResult{}}
	res.VMs = nil // no VM described itself
	for i := range res.Cases {
		c := &res.Cases[i]
		runs := carrying(c, measured(rec.Of(c.Case.Case)))
		figures := figuresOf(c, runs)
		for _, p := range rec.Of(c.Case.Case) { // untimed runs know the peak of a small program
			if p.Exit != nil && len(p.Faults) == 0 && len(runs) > 0 {
				figures.MaxRSS = max(figures.MaxRSS, p.Exit.MaxRSS)
			}
		}
		res.Commands = append(res.Commands, figures)
		c.Warnings = warnings(c, figures)
		c.JIT.Compiled = "" // nor of what it compiled
	}
	compare(rec, res)
	return res
}

// measured are the runs that count, as stat counts them.
func measured(said []*record.ProcessRecord) []*record.ProcessRecord {
	return slices.DeleteFunc(said, func(p *record.ProcessRecord) bool {
		return p.Finish == nil || len(p.Faults) > 0 || len(times(p, record.Measure)) == 0
	})
}

// carrying are the runs that had quiet moments at both ends, where these carry the figure, as stat chose them.
func carrying(c *record.CaseResult, runs []*record.ProcessRecord) []*record.ProcessRecord {
	if c.Quiet == nil || c.Quiet.Disturbed {
		return runs
	}
	disturbed := map[int]bool{}
	for _, p := range c.PerProcess {
		disturbed[p.Process] = p.Disturbed
	}
	return slices.DeleteFunc(runs, func(p *record.ProcessRecord) bool { return disturbed[p.Process.Process] })
}

// times are those of a process's batches of a kind.
func times(p *record.ProcessRecord, kind string) []float64 {
	var all []float64
	for _, b := range p.Batches {
		if b.Kind == kind {
			all = append(all, b.NS...)
		}
	}
	return all
}

// each is one value a run: the sum of the batches of some kinds, less those of others.
// Runs without the first of them have none.
func each(runs []*record.ProcessRecord, plus, minus []string) []float64 {
	var values []float64
	for _, p := range runs {
		if len(times(p, slices.Concat(minus, plus)[0])) == 0 {
			continue
		}
		var sum float64
		for _, kind := range plus {
			sum += estimate.Sum(times(p, kind))
		}
		for _, kind := range minus {
			sum -= estimate.Sum(times(p, kind))
		}
		values = append(values, sum)
	}
	return values
}

func figuresOf(c *record.CaseResult, runs []*record.ProcessRecord) record.CommandResult {
	kinds := func(k ...string) []string { return k }
	f := record.CommandResult{
		Name: c.Name, Runs: len(runs), Statuses: map[string]int{},
		EmptyNS:  estimate.MedianIfAny(each(runs, kinds(record.Empty), nil)),
		NetNS:    estimate.MedianIfAny(each(runs, kinds(record.Measure), kinds(record.Empty))),
		SpawnNS:  estimate.MedianIfAny(each(runs, kinds(record.Spawn), nil)),
		CPUNS:    estimate.MedianIfAny(each(runs, kinds(record.User, record.System), nil)),
		NetCPUNS: estimate.MedianIfAny(each(runs, kinds(record.User, record.System), kinds(record.EmptyUser, record.EmptySystem))),
	}
	f.Empty, _ = c.Params[record.EmptyParam].(string)
	if wall := each(runs, kinds(record.Measure), nil); len(wall) > 0 {
		f.WallNS = &record.Distribution{
			Interval: *estimate.MedianIfAny(wall), Min: slices.Min(wall), P50: estimate.Quantile(wall, 0.5),
			P90: estimate.Quantile(wall, 0.9), P99: estimate.Quantile(wall, 0.99), Max: slices.Max(wall),
		}
	}
	f.UserNS, f.SystemNS = estimate.Mean(each(runs, kinds(record.User), nil)), estimate.Mean(each(runs, kinds(record.System), nil))
	f.Involuntary = estimate.Median(switches(runs, record.User))
	f.Voluntary = estimate.Median(switches(runs, record.System))
	var stdout, stderr []float64
	for _, p := range runs {
		if p.Exit == nil {
			continue
		}
		status := cmp.Or(p.Exit.Signal, fmt.Sprint(p.Exit.Status))
		f.Statuses[status]++
		stdout, stderr = append(stdout, printedBytes(p.Exit.Stdout)), append(stderr, printedBytes(p.Exit.Stderr))
	}
	f.Stdout, f.Stderr = estimate.Median(stdout), estimate.Median(stderr)
	if len(runs) == 0 { // NaN is no JSON
		f.UserNS, f.SystemNS, f.Involuntary, f.Voluntary, f.Stdout, f.Stderr = 0, 0, 0, 0, 0, 0
	}
	return f
}

func switches(runs []*record.ProcessRecord, kind string) []float64 {
	var counts []float64
	for _, p := range runs {
		n := 0
		for _, b := range p.Batches {
			if b.Kind == kind {
				for _, s := range b.Switches {
					n += s
				}
			}
		}
		counts = append(counts, float64(n))
	}
	return counts
}

func printedBytes(o *record.Output) float64 {
	if o == nil {
		return 0
	}
	return float64(o.Bytes)
}

// warnings are stat's as far as they hold for whole commands, some with advice of our own.
func warnings(c *record.CaseResult, f record.CommandResult) []record.Warning {
	keep := map[string]string{
		"few_processes": "use at least 6 runs: --runs, or more --time",
		"modes":         "look for what differs from run to run: a cache, a file, a CPU, the order of hashes",
		"one_process":   "",
		"disturbed":     "measure again at another time, or with --wait-quiet 2m; comparisons of interleaved commands stay valid",
		"wide_interval": "",
	}
	list := []record.Warning{}
	onlyStart := f.NetNS != nil && f.Runs >= estimate.LeastForMedian(estimate.Level) && f.NetNS.Low <= 0
	for _, w := range c.Warnings {
		advice, ok := keep[w.Code]
		if !ok || onlyStart && w.Code == "wide_interval" { // no number of runs narrows it around 0
			continue
		}
		if advice != "" {
			w.Advice = advice
		}
		list = append(list, w)
	}
	if onlyStart {
		list = append(list, record.Warning{
			Code:   "only_start",
			Text:   "it takes no measurable time beyond its start-up",
			Advice: "give it more to do, or time the whole command with --empty none",
		})
	}
	if len(f.Statuses) > 1 || len(f.Statuses) == 1 && f.Statuses["0"] == 0 {
		list = append(list, record.Warning{
			Code: "failed_runs", Text: fmt.Sprintf("not every run succeeded: %s", statusText(f.Statuses)),
			Advice: "a command that fails may have done less than it should",
		})
	}
	return list
}

func statusText(statuses map[string]int) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(statuses)) {
		texts = append(texts, fmt.Sprintf("%d× status %s", statuses[name], name))
	}
	return strings.Join(texts, ", ")
}
