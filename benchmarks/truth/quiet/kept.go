package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"slices"
)

// figures are what is kept of a run for good: a line of JSON.
type figures struct {
	Started string                 `json:"started"`
	CPU     string                 `json:"cpu"`
	Load    float64                `json:"load"` // when it began
	Program string                 `json:"program"`
	Best    map[string]float64     `json:"best"` // of the yardsticks, in ns, of the records that were summarized with it
	Cases   map[string]caseFigures `json:"cases"`
}

// A yes is a bool that is left out where it is false, and counts.
type yes bool

func (y yes) count() int {
	if y {
		return 1
	}
	return 0
}

// caseFigures are those of a case by each rule, in ns per call; 0 where a rule has none.
type caseFigures struct {
	NS        float64   `json:"ns"` // moonlap's
	Low       float64   `json:"low"`
	High      float64   `json:"high"`
	Disturbed yes       `json:"disturbed,omitempty"`
	Slower    float64   `json:"slower,omitempty"` // by how much the yardsticks took longer, at the most
	Modes     int       `json:"modes,omitempty"`
	Never     yes       `json:"never,omitempty"`
	Quiet     []float64 `json:"quiet"` // each process that counts
	Clean     []float64 `json:"clean"` // the median of the clean batches of each process
	// All are the processes that were steady, in order of time, and Loud which of them had no quiet moment: what compare pairs.
	All  []float64 `json:"all,omitempty"`
	Loud []int     `json:"loud,omitempty"`

	CoreQuiet   float64 `json:"core_quiet,omitempty"`
	CleanMedian float64 `json:"clean_median,omitempty"`
	Median      float64 `json:"median"`
	Mean        float64 `json:"mean"`
	Least       float64 `json:"least"`
}

// slower is by how much the case may have been slowed, as --baseline has it.
func (c caseFigures) slower() float64 {
	if !c.Disturbed || c.Low <= 0 {
		return 0
	}
	return max(c.Slower, c.NS/c.Low-1)
}

// idle runs began at a load below two: the runs of a study that follow each other make one of their own.
func (f figures) idle() bool { return f.Load < 2 }

func least(runs []figures) float64 {
	return slices.MinFunc(runs, func(a, b figures) int { return int(math.Copysign(1, a.Load-b.Load)) }).Load
}

func most(runs []figures) float64 {
	return slices.MaxFunc(runs, func(a, b figures) int { return int(math.Copysign(1, a.Load-b.Load)) }).Load
}

func names(runs []figures) []string { return slices.Sorted(maps.Keys(runs[0].Cases)) }

// readKept reads the figures of all runs, in order of time.
func readKept(path string) ([]figures, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var runs []figures
	for lines := json.NewDecoder(f); ; {
		var one figures
		if err := lines.Decode(&one); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: run %d: %w", path, len(runs)+1, err)
		}
		runs = append(runs, one)
	}
	slices.SortFunc(runs, func(a, b figures) int {
		if a.Started < b.Started {
			return -1
		}
		return 1
	})
	return runs, nil
}

// keep writes the figures of records into the file, in place of those of the same runs, and leaves other runs as they are.
func keep(moonlap, path string, runs []run, best map[string]float64) error {
	kept, err := readKept(path)
	if err != nil {
		return err
	}
	version, err := exec.Command(moonlap, "version").Output()
	if err != nil {
		return err
	}
	for _, r := range runs {
		one, err := figuresOf(moonlap, r, best)
		if err != nil {
			return err
		}
		one.Program = string(version[:len(version)-1])
		kept = slices.DeleteFunc(kept, func(f figures) bool { return f.Started == one.Started })
		kept = append(kept, one)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	out := json.NewEncoder(f)
	for _, one := range kept {
		if err := out.Encode(one); err != nil {
			return err
		}
	}
	return f.Close()
}

// A report is what moonlap says of a record.
type report struct {
	Environment struct{ CPU string }
	Cases       []struct {
		Name      string
		NSPerCall *struct{ Estimate, Low, High float64 } `json:"ns_per_call"`
		Modes     []struct{}
		Steady    string
		Quiet     *struct {
			Disturbed  yes
			SlowerHigh float64 `json:"slower_high"`
		}
		PerProcess []struct {
			NS        float64
			Steady    string
			Disturbed bool
		} `json:"per_process"`
	}
}

func figuresOf(moonlap string, r run, best map[string]float64) (figures, error) {
	f := figures{Started: r.started, Load: r.load, Best: best, Cases: map[string]caseFigures{}}
	out, err := exec.Command(moonlap, "report", "--format", "json", r.path).Output()
	if len(out) == 0 {
		return f, fmt.Errorf("moonlap report %s: %w", r.path, err)
	}
	var said report
	if err := json.Unmarshal(out, &said); err != nil {
		return f, err
	}
	f.CPU = said.Environment.CPU
	for _, s := range said.Cases {
		c := byRules(r, s.Name, best)
		c.Modes, c.Never = len(s.Modes), s.Steady == "none"
		if s.NSPerCall != nil {
			c.NS, c.Low, c.High = round(s.NSPerCall.Estimate), round(s.NSPerCall.Low), round(s.NSPerCall.High)
		}
		if s.Quiet != nil {
			c.Disturbed, c.Slower = s.Quiet.Disturbed, round(s.Quiet.SlowerHigh)
		}
		for _, p := range s.PerProcess {
			if p.Steady == "none" {
				continue
			}
			if p.Disturbed {
				c.Loud = append(c.Loud, len(c.All))
			}
			c.All = append(c.All, round(p.NS))
			if !p.Disturbed || bool(c.Disturbed) {
				c.Quiet = append(c.Quiet, round(p.NS))
			}
		}
		f.Cases[s.Name] = c
	}
	return f, nil
}

// byRules has the figures of a case by the rules that moonlap is held against.
func byRules(r run, name string, best map[string]float64) caseFigures {
	all := r.all[name]
	c := caseFigures{Median: round(quantile(all, 0.5)), Mean: round(mean(all)), Least: round(slices.Min(all))}
	c.Clean = located(r.processes[name], func(batch) bool { return true })
	c.CleanMedian = overProcesses(c.Clean)
	c.CoreQuiet = overProcesses(located(r.processes[name], func(b batch) bool { return b.yard["core"] <= near["core"]*best["core"] }))
	return c
}

// located are the medians of the batches to keep, of each process that has ten.
func located(processes [][]batch, keep func(batch) bool) (medians []float64) {
	for _, p := range processes {
		var ns []float64
		for _, b := range p {
			if keep(b) {
				ns = append(ns, b.ns)
			}
		}
		if len(ns) >= 10 {
			medians = append(medians, round(quantile(ns, 0.5)))
		}
	}
	return medians
}

// overProcesses is the median of three or more.
func overProcesses(medians []float64) float64 {
	if len(medians) < 3 {
		return 0
	}
	return quantile(medians, 0.5)
}

// round keeps five digits.
func round(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	unit := math.Pow10(4 - int(math.Floor(math.Log10(math.Abs(x)))))
	return math.Round(x*unit) / unit
}
