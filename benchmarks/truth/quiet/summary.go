package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// A yardstick is near its best when it takes at most this much longer.
var near = map[string]float64{"core": 1.03, "cache": 1.05, "memory": 1.25}

func summarize(moonlap, folder, kept string) error {
	runs, err := readAll(folder)
	if err != nil {
		return err
	}
	if len(runs) > 0 {
		best := bestOf(runs)
		fmt.Printf("%d records from %s to %s; best", len(runs), runs[0].started, runs[len(runs)-1].started)
		for _, kind := range kinds {
			fmt.Printf(" %s %.0f ns", kind, best[kind])
		}
		fmt.Print("\n\n")
		predictions(runs, slices.Sorted(maps.Keys(runs[0].processes)), best)
		if err := keep(moonlap, kept, runs, best); err != nil {
			return err
		}
	}
	all, err := readKept(kept)
	if err != nil {
		return err
	}
	for _, idle := range []bool{true, false} {
		of := slices.DeleteFunc(slices.Clone(all), func(f figures) bool { return f.idle() != idle })
		if len(of) == 0 {
			continue
		}
		fmt.Printf("\n%s: %d runs from %s to %s, load %.1f to %.1f\n\n", map[bool]string{true: "Idle guest", false: "Busy guest"}[idle],
			len(of), of[0].Started, of[len(of)-1].Started, least(of), most(of))
		spreads(of)
		verdicts(of)
	}
	return nil
}

// verdicts tells how often intervals hold the figure of all runs, how often a neighbour was told as something else, and how
// often one run as the baseline of another is told to differ.
func verdicts(runs []figures) {
	fmt.Println("\n| case | runs disturbed | intervals that hold the median of the others | with more than one mode | never steady | " +
		"A/A alarms, all pairs of runs | the same of clean batches |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	for _, name := range names(runs) {
		var quietOnes []float64
		for _, r := range runs {
			if c := r.Cases[name]; c.NS > 0 && !c.Disturbed {
				quietOnes = append(quietOnes, c.NS)
			}
		}
		grand := quantile(quietOnes, 0.5)
		disturbed, holds, figures, modes, never := 0, 0, 0, 0, 0
		for _, r := range runs {
			c := r.Cases[name]
			disturbed += c.Disturbed.count()
			modes += yes(c.Modes > 1).count()
			never += c.Never.count()
			if c.NS > 0 && !math.IsNaN(grand) {
				figures++
				holds += yes(c.Low <= grand && grand <= c.High).count()
			}
		}
		pairs, alarms, before := 0, 0, 0
		for i, then := range runs {
			for _, now := range runs[i+1:] {
				a, b := then.Cases[name], now.Cases[name]
				pairs++
				alarms += yes(differ(a.Quiet, b.Quiet, a.slower(), b.slower())).count()
				before += yes(differ(a.Clean, b.Clean, 0, 0)).count()
			}
		}
		fmt.Printf("| %s | %d | %d of %d | %d | %d | %s | %s |\n", name, disturbed, holds, figures, modes, never, share(alarms, pairs), share(before, pairs))
	}
}

func share(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(of))
}

// differ is moonlap's verdict on twelve cases of six processes a side: at 95 % over all, the interval of the ratio is from the
// least to the largest of all ratios, with room for what slowed either side.
func differ(then, now []float64, thenSlower, nowSlower float64) bool {
	if len(then) < 6 || len(now) < 6 {
		return false
	}
	low := slices.Min(now) / slices.Max(then) / (1 + nowSlower)
	high := slices.Max(now) / slices.Min(then) * (1 + thenSlower)
	return low > 1 || high < 1
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

// spreads tells how far the figures of the runs lie apart by each rule: the largest to the smallest. What moonlap calls
// disturbed counts apart.
func spreads(runs []figures) {
	fmt.Println("| case | moonlap, not disturbed | core quiet | clean batches | median of all | mean of all | minimum |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	for _, name := range names(runs) {
		fmt.Printf("| %s ", name)
		for _, of := range []func(c caseFigures) float64{
			func(c caseFigures) float64 {
				if c.Disturbed {
					return 0
				}
				return c.NS
			},
			func(c caseFigures) float64 { return c.CoreQuiet },
			func(c caseFigures) float64 { return c.CleanMedian },
			func(c caseFigures) float64 { return c.Median },
			func(c caseFigures) float64 { return c.Mean },
			func(c caseFigures) float64 { return c.Least },
		} {
			low, high, n := math.Inf(1), 0.0, 0
			for _, r := range runs {
				if x := of(r.Cases[name]); x > 0 {
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
