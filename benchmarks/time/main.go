// Time asks what a harness adds to a command's wall time: the same commands by moonlap
// time and by hyperfine -N, in rounds, the tools in random order in each.
//
//	go build -o ../../bin/moonlap ../../cmd/moonlap && go run .
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A work is a command to be timed.
type work struct {
	name string
	args []string
	runs int // in a round, by each tool
}

var works = []work{
	{"true", []string{"/bin/true"}, 40},
	{"luajit, empty", []string{"luajit", "-e", ""}, 40},
	{"luajit, 15 ms", []string{"luajit", "-joff", "-e", "local s = 0 for i = 1, 3e6 do s = s + i % 7 end"}, 10},
	{"prints 1 MB", []string{"head", "-c", "1000000", "/dev/zero"}, 40},
}

// A figure is what a tool says of a work in one round, in ns.
type figure struct{ median, least, cpu float64 }

type tool struct {
	name string
	time func(work) (figure, error)
}

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 40, "rounds")
	moonlap := flag.String("moonlap", "../../bin/moonlap", "the moonlap to measure with")
	flag.Parse()
	tools := []tool{
		{"hyperfine -N", hyperfine},
		{"moonlap time --discard-output", moonlapBy(*moonlap, "--discard-output")},
		{"moonlap time", moonlapBy(*moonlap)},
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("%d rounds, load before %s\n", *rounds, strings.TrimSpace(string(load)))
	for _, w := range works {
		figures := make([][]figure, len(tools))
		for range *rounds {
			for _, i := range rand.Perm(len(tools)) {
				f, err := tools[i].time(w)
				if err != nil {
					log.Fatalf("%s: %v", tools[i].name, err)
				}
				figures[i] = append(figures[i], f)
			}
		}
		fmt.Printf("\n%-30s  %12s  %9s  %9s  %s\n", w.name, "median, ms", "least, ms", "CPU, ms", "median against hyperfine's [95 %]")
		for i, t := range tools {
			medians := values(figures[i], func(f figure) float64 { return f.median })
			fmt.Printf("%-30s  %12.3f  %9.3f  %9.3f", t.name, quantile(medians, 0.5)/1e6,
				slices.Min(values(figures[i], func(f figure) float64 { return f.least }))/1e6,
				quantile(values(figures[i], func(f figure) float64 { return f.cpu }), 0.5)/1e6)
			if i > 0 {
				ratios := make([]float64, *rounds)
				for r := range ratios {
					ratios[r] = figures[i][r].median / figures[0][r].median
				}
				low, high := interval(ratios)
				fmt.Printf("  %.3f [%.3f, %.3f]", quantile(ratios, 0.5), low, high)
			}
			fmt.Println()
		}
	}
}

func values(fs []figure, of func(figure) float64) []float64 {
	var xs []float64
	for _, f := range fs {
		xs = append(xs, of(f))
	}
	return xs
}

func quantile(xs []float64, p float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	h := float64(len(s)-1) * p
	i := int(h)
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[i] + (h-float64(i))*(s[i+1]-s[i])
}

// interval holds the median with at least 95 %: between order statistics, by the sign test.
func interval(xs []float64) (low, high float64) {
	s := slices.Sorted(slices.Values(xs))
	n, k, tail := len(s), 0, math.Pow(0.5, float64(len(s)))
	for term := tail; tail <= 0.025 && k < n/2; k++ {
		term *= float64(n-k) / float64(k+1)
		tail += term
	}
	k = max(k, 1)
	return s[k-1], s[n-k]
}

func hyperfine(w work) (f figure, err error) {
	out := filepath.Join(os.TempDir(), fmt.Sprintf("hyperfine-%d.json", os.Getpid()))
	defer os.Remove(out)
	line := make([]string, len(w.args))
	for i, a := range w.args {
		line[i] = "'" + a + "'"
	}
	cmd := exec.Command("hyperfine", "-N", "--style", "none", "--warmup", "1", "--runs", fmt.Sprint(w.runs),
		"--export-json", out, strings.Join(line, " "))
	if text, err := cmd.CombinedOutput(); err != nil {
		return f, fmt.Errorf("%w: %s", err, text)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return f, err
	}
	var said struct {
		Results []struct{ Median, Min, User, System float64 }
	}
	if err := json.Unmarshal(b, &said); err != nil {
		return f, err
	}
	r := said.Results[0]
	return figure{r.Median * 1e9, r.Min * 1e9, (r.User + r.System) * 1e9}, nil
}

func moonlapBy(path string, flags ...string) func(work) (figure, error) {
	return func(w work) (f figure, err error) {
		args := append([]string{"time", "--empty", "none", "--runs", fmt.Sprint(w.runs), "--format", "json"}, flags...)
		cmd := exec.Command(path, append(append(args, "--"), w.args...)...)
		cmd.Stderr = os.Stderr
		b, err := cmd.Output()
		if err != nil {
			return f, err
		}
		var said struct {
			Commands []struct {
				Wall struct{ Estimate, Min float64 } `json:"wall_ns"`
				CPU  struct{ Estimate float64 }      `json:"cpu_ns"`
			}
		}
		if err := json.Unmarshal(b, &said); err != nil {
			return f, err
		}
		c := said.Commands[0]
		return figure{c.Wall.Estimate, c.Wall.Min, c.CPU.Estimate}, nil
	}
}
