package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// kinds of yardsticks.
var kinds = []string{"core", "cache", "memory"}

// A batch is one of the case, not interrupted and without a new trace.
type batch struct {
	ns   float64            // per call, the empty loop not taken off
	yard map[string]float64 // the slower of before and after
}

// A run is one record.
type run struct {
	path      string
	started   string
	load      float64
	processes map[string][][]batch // by case
	all       map[string][]float64 // of each case, ns per call of all batches, interrupted ones too
}

// line has of a record's lines what is needed here.
type line struct {
	Type        string
	Case        int
	Process     int
	Name        string
	Kind        string
	Started     string
	Environment struct{ Load []float64 }
	Calls       []float64
	NS          []float64
	Traces      []int
	Switches    []int
	Steal       []int
	Yardsticks  json.RawMessage // of batches, by kind; a run has the best of each kind under this name
}

func readAll(folder string) ([]run, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var runs []run
	for _, path := range paths {
		r, err := read(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func read(path string) (run, error) {
	r := run{path: path, processes: map[string][][]batch{}, all: map[string][]float64{}}
	f, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return r, err
	}
	names, caseOf := map[int]string{}, map[int]string{}
	batches := map[int][]batch{}
	var order []int
	for lines := json.NewDecoder(zip); ; {
		var text json.RawMessage
		if err := lines.Decode(&text); err == io.EOF {
			break
		} else if err != nil {
			return r, err
		}
		var of struct{ Type string }
		if err := json.Unmarshal(text, &of); err != nil {
			return r, err
		}
		if !slices.Contains([]string{"run", "case", "process", "batches"}, of.Type) {
			continue
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return r, err
		}
		switch l.Type {
		case "run":
			r.started, r.load = l.Started, l.Environment.Load[0]
		case "case":
			names[l.Case] = l.Name
		case "process":
			caseOf[l.Process] = names[l.Case]
			order = append(order, l.Process)
		case "batches":
			if l.Kind != "measure" {
				continue
			}
			var looks map[string][]float64
			if l.Yardsticks != nil {
				if err := json.Unmarshal(l.Yardsticks, &looks); err != nil {
					return r, err
				}
			}
			name := caseOf[l.Process]
			for i, ns := range l.NS {
				r.all[name] = append(r.all[name], ns/l.Calls[i])
				if marked(l.Traces, i) || marked(l.Switches, i) || marked(l.Steal, i) || looks == nil {
					continue
				}
				b := batch{ns: ns / l.Calls[i], yard: map[string]float64{}}
				for _, kind := range kinds {
					b.yard[kind] = max(looks[kind][i], looks[kind][i+1])
				}
				batches[l.Process] = append(batches[l.Process], b)
			}
		}
	}
	for _, p := range order {
		if name := caseOf[p]; len(batches[p]) > 0 {
			r.processes[name] = append(r.processes[name], batches[p])
		}
	}
	return r, nil
}

func marked(marks []int, i int) bool { return i < len(marks) && marks[i] > 0 }
