package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"slices"
)

// A yardstick is near its best when it takes at most this much longer.
var near = map[string]float64{"core": 1.03, "cache": 1.05, "memory": 1.25}

func summarize(moonlap, folder string) error {
	runs, err := readAll(folder)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return fmt.Errorf("%s: no records", folder)
	}
	best := bestOf(runs)
	fmt.Printf("%d runs from %s to %s; best", len(runs), runs[0].started, runs[len(runs)-1].started)
	for _, kind := range kinds {
		fmt.Printf(" %s %.0f ns", kind, best[kind])
	}
	fmt.Print("\n\n")
	names := slices.Sorted(maps.Keys(runs[0].processes))
	predictions(runs, names, best)
	said, err := reports(moonlap, runs)
	if err != nil {
		return err
	}
	spreads(said, runs, names, best)
	verdicts(said, runs, names)
	return nil
}

// A report is what moonlap says of a case in a run.
type report struct {
	Name      string
	NSPerCall *struct{ Estimate, Low, High float64 } `json:"ns_per_call"`
	Modes     []struct{}
	Steady    string
	Quiet     *struct {
		Share     float64
		Disturbed bool
	}
	PerProcess []struct{ Steady string } `json:"per_process"`
}

// reports are what moonlap says of each record, by path and case.
func reports(moonlap string, runs []run) (map[string]map[string]report, error) {
	said := map[string]map[string]report{}
	for _, r := range runs {
		out, err := exec.Command(moonlap, "report", "--format", "json", r.path).Output()
		if len(out) == 0 {
			return nil, fmt.Errorf("moonlap report %s: %w", r.path, err)
		}
		var res struct{ Cases []report }
		if err := json.Unmarshal(out, &res); err != nil {
			return nil, err
		}
		said[r.path] = map[string]report{}
		for _, c := range res.Cases {
			said[r.path][c.Name] = c
		}
	}
	return said, nil
}

// verdicts tells how often intervals hold the figure of all runs, and how often a neighbour was told as something else.
func verdicts(said map[string]map[string]report, runs []run, names []string) {
	fmt.Println("\n| case | runs disturbed | intervals that hold the median of the others | with more than one mode | never steady |")
	fmt.Println("| --- | --- | --- | --- | --- |")
	for _, name := range names {
		var quietOnes []float64
		for _, r := range runs {
			if c := said[r.path][name]; c.NSPerCall != nil && c.Quiet != nil && !c.Quiet.Disturbed {
				quietOnes = append(quietOnes, c.NSPerCall.Estimate)
			}
		}
		grand := quantile(quietOnes, 0.5)
		disturbed, holds, figures, modes, never := 0, 0, 0, 0, 0
		for _, r := range runs {
			c := said[r.path][name]
			if c.Quiet != nil && c.Quiet.Disturbed {
				disturbed++
			}
			if len(c.Modes) > 1 {
				modes++
			}
			if c.Steady == "none" {
				never++
			}
			if c.NSPerCall != nil && !math.IsNaN(grand) {
				figures++
				if c.NSPerCall.Low <= grand && grand <= c.NSPerCall.High {
					holds++
				}
			}
		}
		fmt.Printf("| %s | %d | %d of %d | %d | %d |\n", name, disturbed, holds, figures, modes, never)
	}
}

// bestOf is the 2 % quantile of each yardstick over all batches.
func bestOf(runs []run) map[string]float64 {
	best := map[string]float64{}
	for _, kind := range kinds {
		var times []float64
		for _, r := range runs {
			for _, processes := range r.processes {
				for _, p := range processes {
					for _, b := range p {
						times = append(times, b.yard[kind])
					}
				}
			}
		}
		best[kind] = quantile(times, 0.02)
	}
	return best
}

// predictions tells how each yardstick goes with each case: Spearman's rho, and the case's time in batches where
// that yardstick alone is not near its best, to its time where all are.
func predictions(runs []run, names []string, best map[string]float64) {
	fmt.Println("| case | batches | quiet | rho: core | cache | memory | slower where core is not near | cache alone | memory alone |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, name := range names {
		var ns, quietNS []float64
		yard, off := map[string][]float64{}, map[string][]float64{}
		for _, r := range runs {
			for _, p := range r.processes[name] {
				floor := quantile(timesOf(p), 0.1) // processes differ for other reasons
				for _, b := range p {
					x := b.ns / floor
					ns = append(ns, x)
					var far []string
					for _, kind := range kinds {
						yard[kind] = append(yard[kind], b.yard[kind])
						if b.yard[kind] > near[kind]*best[kind] {
							far = append(far, kind)
						}
					}
					switch {
					case len(far) == 0:
						quietNS = append(quietNS, x)
					case far[0] == "core":
						off["core"] = append(off["core"], x)
					case len(far) == 1:
						off[far[0]] = append(off[far[0]], x)
					}
				}
			}
		}
		fmt.Printf("| %s | %d | %.0f %% ", name, len(ns), 100*float64(len(quietNS))/float64(len(ns)))
		for _, kind := range kinds {
			fmt.Printf("| %.2f ", spearman(yard[kind], ns))
		}
		for _, kind := range kinds {
			fmt.Printf("| %s ", ratio(off[kind], quietNS))
		}
		fmt.Println("|")
	}
	fmt.Println()
}

func ratio(off, quiet []float64) string {
	if len(off) < 50 || len(quiet) < 50 {
		return "–"
	}
	return fmt.Sprintf("%+.0f %%", 100*(quantile(off, 0.5)/quantile(quiet, 0.5)-1))
}

// A rule makes a figure of a case's processes in a run; NaN where it cannot.
type rule struct {
	name string
	of   func(r run, name string) float64
}

// spreads tells how far the figures of the runs lie apart by each rule: the largest to the smallest. What moonlap calls
// disturbed counts apart.
func spreads(said map[string]map[string]report, runs []run, names []string, best map[string]float64) {
	overProcesses := func(r run, name string, keep func(batch) bool) float64 {
		var located []float64
		for _, p := range r.processes[name] {
			var ns []float64
			for _, b := range p {
				if keep(b) {
					ns = append(ns, b.ns)
				}
			}
			if len(ns) >= 10 {
				located = append(located, quantile(ns, 0.5))
			}
		}
		if len(located) < 3 {
			return math.NaN()
		}
		return quantile(located, 0.5)
	}
	rules := []rule{
		{"moonlap, not disturbed", func(r run, name string) float64 {
			c := said[r.path][name]
			if c.NSPerCall == nil || c.Quiet == nil || c.Quiet.Disturbed {
				return math.NaN()
			}
			return c.NSPerCall.Estimate
		}},
		{"core quiet", func(r run, name string) float64 {
			return overProcesses(r, name, func(b batch) bool { return b.yard["core"] <= near["core"]*best["core"] })
		}},
		{"clean batches", func(r run, name string) float64 {
			return overProcesses(r, name, func(batch) bool { return true })
		}},
		{"median of all", func(r run, name string) float64 { return quantile(r.all[name], 0.5) }},
		{"mean of all", func(r run, name string) float64 { return mean(r.all[name]) }},
		{"minimum", func(r run, name string) float64 { return slices.Min(r.all[name]) }},
	}
	fmt.Print("| case ")
	for _, rule := range rules {
		fmt.Printf("| %s ", rule.name)
	}
	fmt.Println("|")
	for range rules {
		fmt.Print("| --- ")
	}
	fmt.Println("| --- |")
	for _, name := range names {
		fmt.Printf("| %s ", name)
		for _, rule := range rules {
			low, high, n := math.Inf(1), 0.0, 0
			for _, r := range runs {
				if x := rule.of(r, name); !math.IsNaN(x) {
					low, high, n = min(low, x), max(high, x), n+1
				}
			}
			switch {
			case n < 2:
				fmt.Print("| – ")
			case n < len(runs):
				fmt.Printf("| %.3f (%d runs) ", high/low, n)
			default:
				fmt.Printf("| %.3f ", high/low)
			}
		}
		fmt.Println("|")
	}
}

func timesOf(p []batch) []float64 {
	var ns []float64
	for _, b := range p {
		ns = append(ns, b.ns)
	}
	return ns
}

func quantile(xs []float64, p float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(xs))
	return s[min(len(s)-1, int(p*float64(len(s))))]
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// spearman is the correlation of ranks.
func spearman(xs, ys []float64) float64 {
	rx, ry := ranks(xs), ranks(ys)
	mx, my := mean(rx), mean(ry)
	var xy, xx, yy float64
	for i := range rx {
		xy += (rx[i] - mx) * (ry[i] - my)
		xx += (rx[i] - mx) * (rx[i] - mx)
		yy += (ry[i] - my) * (ry[i] - my)
	}
	return xy / math.Sqrt(xx*yy)
}

// ranks, ties sharing their mean.
func ranks(xs []float64) []float64 {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case xs[a] < xs[b]:
			return -1
		case xs[a] > xs[b]:
			return 1
		}
		return 0
	})
	r := make([]float64, len(xs))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && xs[order[j]] == xs[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			r[k] = float64(i+j-1) / 2
		}
		i = j
	}
	return r
}
