// Command plot measures how long a plot of many laps takes to make, from the laps to the file,
// and how large the file is, with package lapplot, with gonum.org/v1/plot and with hrtime's
// hrplot. They take turns in random order in each round; ratios are paired by round and given
// as median with a 95 % interval of order statistics.
package main

import (
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/loov/hrtime/hrplot"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/moonlap/moonlap/lap/lapplot"
)

// A candidate makes one file of laps.
type candidate struct {
	name string
	file string
	make func(file string, laps []time.Duration) error
}

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 12, "rounds of each comparison")
	keep := flag.String("keep", "", "keep the plots in `FOLDER`")
	flag.Parse()
	if *rounds < 6 {
		log.Fatal("a 95 % interval needs at least 6 rounds")
	}
	dir := *keep
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "plot-"); err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(dir)
	}
	fmt.Printf("%s %s/%s, GOMAXPROCS %d, %s, %d rounds\n", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.GOMAXPROCS(0), time.Now().UTC().Format(time.DateOnly), *rounds)

	million := laps(1_000_000)
	compare(dir, *rounds, "A timeline of 1e6 laps", million, []candidate{
		{"lapplot, SVG", "line.svg", line},
		{"gonum/plot, SVG", "gonum.svg", gonumLine},
		{"hrplot, SVG", "hrplot-line.svg", hrplotLine},
	}, 1)
	compare(dir, *rounds, "A timeline of 1e4 laps", million[:10_000], []candidate{
		{"lapplot, PNG", "line.png", line},
		{"gonum/plot, PNG", "gonum.png", gonumLine},
	}, 1) // gonum's of 1e6 was not done after two minutes
	all := []candidate{
		{"lapplot, SVG", "all.svg", every},
		{"lapplot, PNG", "all.png", every},
		{"lapplot, HTML", "all.html", every},
		{"hrplot, SVG", "hrplot-all.svg", hrplotAll},
	}
	compare(dir, *rounds, "Timeline, density and percentiles of 1e6 laps", million, all, 3)
	compare(dir, *rounds, "The same of 4e7 laps", laps(40_000_000), all[:3], 3) // hrplot takes minutes
}

// laps are times around 200 ns with a long tail and a slower stretch.
func laps(n int) []time.Duration {
	r := rand.New(rand.NewPCG(1, 2))
	d := make([]time.Duration, n)
	for i := range d {
		level := 200.0
		if i > n/2 && i < n/2+n/10 {
			level = 260
		}
		d[i] = time.Duration(level * math.Exp(0.1*r.NormFloat64()+0.3*r.ExpFloat64()))
	}
	return d
}

func line(file string, laps []time.Duration) error {
	return lapplot.Line(file, lapplot.Collect("laps", slices.Values(laps)))
}

func every(file string, laps []time.Duration) error {
	return lapplot.All(file, lapplot.Collect("laps", slices.Values(laps)))
}

// gonumLine is the same line with axes and titles, as gonum's documentation shows it.
func gonumLine(file string, laps []time.Duration) error {
	points := make(plotter.XYs, len(laps))
	for i, d := range laps {
		points[i] = plotter.XY{X: float64(i + 1), Y: float64(d)}
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "Timeline", "lap", "time per lap, ns"
	l, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	p.Add(plotter.NewGrid(), l)
	return p.Save(750*vg.Points(1), 300*vg.Points(1), file) // 1000 px wide, as lapplot's
}

// measured is how hrplot takes laps.
type measured []time.Duration

func (m measured) Name() string { return "laps" }
func (m measured) Unit() string { return "ns" }

func (m measured) Float64s() []float64 {
	ns := make([]float64, len(m))
	for i, d := range m {
		ns[i] = float64(d)
	}
	return ns
}

func hrplotLine(file string, laps []time.Duration) error { return hrplot.Line(file, measured(laps)) }

func hrplotAll(file string, laps []time.Duration) error { return hrplot.All(file, measured(laps)) }

// compare runs the candidates interleaved; the first, lapplot's, beside those from peers on.
func compare(dir string, rounds int, title string, laps []time.Duration, candidates []candidate, peers int) {
	seconds, sizes := make([][]float64, len(candidates)), make([]int64, len(candidates))
	for range rounds {
		for _, i := range rand.Perm(len(candidates)) {
			c := candidates[i]
			file := filepath.Join(dir, c.file)
			runtime.GC() // nobody pays for another's garbage
			start := time.Now()
			if err := c.make(file, laps); err != nil {
				log.Fatal(err)
			}
			seconds[i] = append(seconds[i], time.Since(start).Seconds())
			info, err := os.Stat(file)
			if err != nil {
				log.Fatal(err)
			}
			sizes[i] = info.Size()
		}
	}
	fmt.Printf("\n%-48s %10s  %-24s %s\n", title, "kB", "s, median [95 %]", "the first to it [95 %]")
	for i, c := range candidates {
		fmt.Printf("  %-46s %10.1f  %-24s", c.name, float64(sizes[i])/1e3, medianOf(seconds[i]))
		if i >= peers {
			ratios := make([]float64, rounds)
			for k := range ratios {
				ratios[k] = seconds[0][k] / seconds[i][k]
			}
			fmt.Printf(" %s", medianOf(ratios))
		}
		fmt.Println()
	}
}

// medianOf prints a median and its 95 % interval from order statistics.
func medianOf(values []float64) string {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	margin := 1.96 * math.Sqrt(float64(n)) / 2 // the normal approximation of the binomial
	low := max(0, int(math.Floor(float64(n)/2-margin)))
	high := min(n-1, int(math.Ceil(float64(n)/2+margin))-1)
	return fmt.Sprintf("%.3g [%.3g, %.3g]", (sorted[(n-1)/2]+sorted[n/2])/2, sorted[low], sorted[high])
}
