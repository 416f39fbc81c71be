package main

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
)

// byBatches makes the intervals of one who takes batches for independent measurements.
func (o *outcome) byBatches(record string) error {
	batches, err := batchesOf(record)
	if err != nil {
		return err
	}
	for way, sides := range batches {
		a, b := sides[0], sides[1]
		if len(a) < 2 || len(b) < 2 {
			continue
		}
		o.NS[way] = meanInterval(a)
		o.Ratio[way] = ratioInterval(a, b)
	}
	return nil
}

// batchesOf are ns per call of each side's measured batches, by way.
func batchesOf(record string) (map[string]*[2][]float64, error) {
	f, err := os.Open(record)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	of := map[string]*[2][]float64{oneProcess: {}, clean: {}, allClean: {}}
	side, firstOf := map[int]int{}, map[int]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var l struct {
			Type, Kind                 string
			Process, Case              int
			Calls, NS, Switches, Steal []float64
		}
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue // a line of another shape
		}
		switch {
		case l.Type == "process":
			side[l.Process] = l.Case
			if _, ok := firstOf[l.Case]; !ok {
				firstOf[l.Case] = l.Process
			}
		case l.Type == "batches" && l.Kind == "measure":
			s := side[l.Process]
			add := func(way string, x float64) { of[way][s] = append(of[way][s], x) }
			for i, ns := range l.NS {
				perCall := ns / l.Calls[i]
				interrupted := l.Switches != nil && l.Switches[i] > 0 || l.Steal != nil && l.Steal[i] > 0
				if firstOf[s] == l.Process {
					add(oneProcess, perCall)
				}
				if firstOf[s] == l.Process && !interrupted {
					add(clean, perCall)
				}
				if !interrupted {
					add(allClean, perCall)
				}
			}
		}
	}
	return of, lines.Err()
}

// meanInterval is mean ± t·s/√n.
func meanInterval(xs []float64) interval {
	mean, spread := moments(xs)
	arm := studentQuantile(float64(len(xs)-1)) * spread
	return interval{mean - arm, mean, mean + arm}
}

// ratioInterval is that of the ratio of means, by the spread of its logarithm (the delta
// method).
func ratioInterval(a, b []float64) interval {
	meanA, spreadA := moments(a)
	meanB, spreadB := moments(b)
	arm := studentQuantile(float64(min(len(a), len(b))-1)) * math.Hypot(spreadA/meanA, spreadB/meanB)
	ratio := meanB / meanA
	return interval{ratio * math.Exp(-arm), ratio, ratio * math.Exp(arm)}
}

// moments are the mean and its standard error.
func moments(xs []float64) (mean, spread float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += x / n
	}
	for _, x := range xs {
		spread += (x - mean) * (x - mean) / (n - 1)
	}
	return mean, math.Sqrt(spread / n)
}

// studentQuantile is the 97.5 % quantile of t by its expansion around the normal one
// (Cornish & Fisher, 1938).
func studentQuantile(freedom float64) float64 {
	const z = 1.959964
	return z + (z*z*z+z)/(4*freedom) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*freedom*freedom)
}
