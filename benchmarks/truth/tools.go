package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// tools runs each tool as its users do.
type tools struct {
	moonlap, budget, how, source, folder string
	turns                                map[string]string // of the spin, as long as a call of each workload
	asked                                []func(context.Context, *outcome) error
}

// choose says which tools are asked.
func (t *tools) choose(names []string) error {
	all := map[string]func(context.Context, *outcome) error{
		"moonlap": t.moonlapSays, "blind": t.blindSays, "benchstat": t.benchstatSays, "hyperfine": t.hyperfineSays,
	}
	for _, name := range names {
		if all[name] == nil {
			return fmt.Errorf("-tools %s: there is no %q", strings.Join(names, ","), name)
		}
		t.asked = append(t.asked, all[name])
	}
	return nil
}

func newTools(moonlap, budget, how string) (*tools, error) {
	moonlap, err := filepath.Abs(moonlap)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "truth-")
	return &tools{moonlap: moonlap, budget: budget, how: how, source: here(), folder: folder, turns: map[string]string{}}, err
}

func (t *tools) run(ctx context.Context, work string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "TRUTH_DIR="+t.source, "TRUTH_WORK="+work, "TRUTH_HOW="+t.how)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return out, err
}

// turnsOf is calibrated once for each workload: what hyperfine times is a whole process, which must
// not spend its time on it.
func (t *tools) turnsOf(ctx context.Context, work string) (string, error) {
	if t.turns[work] == "" {
		out, err := t.run(ctx, work, "luajit", "command.lua", t.source, work)
		if err != nil {
			return "", err
		}
		t.turns[work] = strings.TrimSpace(string(out))
	}
	return t.turns[work], nil
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// moonlapSays asks moonlap compare, with its defaults but for the time.
func (t *tools) moonlapSays(ctx context.Context, o *outcome) error {
	return t.compare(ctx, o, "moonlap")
}

// blindSays asks it without yardsticks: there are none with this clock.
func (t *tools) blindSays(ctx context.Context, o *outcome) error {
	return t.compare(ctx, o, "blind", "--clock", "monotonic")
}

func (t *tools) compare(ctx context.Context, o *outcome, name string, flags ...string) error {
	o.Tool = name
	text, err := os.ReadFile("bench.lua")
	if err != nil {
		return err
	}
	var files []string
	for i, share := range []float64{0, o.Effect} {
		file := filepath.Join(t.folder, fmt.Sprintf("side%d.lua", i))
		side := strings.Replace(string(text), "(work, SHARE", "(work, "+number(share), 1)
		if err := os.WriteFile(file, []byte(side), 0o644); err != nil {
			return err
		}
		files = append(files, file)
	}
	args := append([]string{"compare", "--runtime", "luajit", "--time", t.budget, "--format", "json"}, flags...)
	out, err := t.run(ctx, o.Work, t.moonlap, append(args, files...)...)
	if err != nil && len(out) == 0 {
		return err
	}
	var results struct {
		Comparisons []struct {
			Verdict string
			Ratio   struct{ Estimate float64 }
		}
	}
	if err := json.Unmarshal(out, &results); err != nil || len(results.Comparisons) != 1 {
		return fmt.Errorf("moonlap's answer: %w: %.200s", err, out)
	}
	c := results.Comparisons[0]
	o.Ratio = c.Ratio.Estimate
	o.Says = c.Verdict
	if c.Verdict == "no measurable difference" {
		o.Says = "same"
	}
	return nil
}

// delta is benchstat's last column: "~ (p=0.63 n=10)" or "+2.33% (p=0.002 n=10)".
var delta = regexp.MustCompile(`(?m)^Work\S*\s.*?(~|[+-][0-9.]+%)\s+\(p=`)

// benchstatSays runs A ten times, then B ten times, and asks benchstat.
func (t *tools) benchstatSays(ctx context.Context, o *outcome) error {
	o.Tool = "benchstat"
	var files []string
	for i, share := range []float64{0, o.Effect} {
		out, err := t.run(ctx, o.Work, "luajit", "timed.lua", t.source, o.Work, number(share), t.how, "10")
		if err != nil {
			return err
		}
		file := filepath.Join(t.folder, fmt.Sprintf("side%d.txt", i))
		if err := os.WriteFile(file, out, 0o644); err != nil {
			return err
		}
		files = append(files, file)
	}
	cmd := exec.CommandContext(ctx, "go", "tool", "benchstat", files[0], files[1])
	cmd.Dir = filepath.Join(t.source, "../..")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("benchstat: %w", err)
	}
	found := delta.FindSubmatch(out)
	if found == nil {
		return fmt.Errorf("benchstat's answer:\n%s", out)
	}
	o.Says, o.Ratio = "same", 1
	if change := string(found[1]); change != "~" {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(change, "%"), 64)
		if err != nil {
			return err
		}
		o.says(1 + percent/100)
	}
	return nil
}

func (o *outcome) says(ratio float64) {
	o.Ratio = ratio
	o.Says = "slower"
	if ratio < 1 {
		o.Says = "faster"
	}
}

// hyperfineSays asks hyperfine's default comparison twice of the same data: as its summary
// reads ("1.05 ± 0.02 times faster": different when the ± does not reach 1), and by the
// Welch test that comes with it as a script.
func (t *tools) hyperfineSays(ctx context.Context, o *outcome) error {
	o.Tool = "hyperfine"
	file := filepath.Join(t.folder, "hyperfine.json")
	args := []string{"-N", "--style", "none", "--export-json", file}
	turns, err := t.turnsOf(ctx, o.Work)
	if err != nil {
		return err
	}
	for _, share := range []float64{0, o.Effect} {
		args = append(args, fmt.Sprintf("luajit command.lua %s %s %s %s %s", t.source, o.Work, number(share), t.how, turns))
	}
	if _, err := t.run(ctx, o.Work, "hyperfine", args...); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var results struct {
		Results []struct {
			Mean, Stddev float64
			Times        []float64
		}
	}
	if err := json.Unmarshal(text, &results); err != nil {
		return err
	}
	a, b := results.Results[0], results.Results[1]
	ratio := b.Mean / a.Mean
	o.Says, o.Ratio = "same", ratio
	times := max(ratio, 1/ratio)
	if times-times*math.Hypot(a.Stddev/a.Mean, b.Stddev/b.Mean) > 1 {
		o.says(ratio)
	}
	o.Welch = welch(a.Times, b.Times)
	return nil
}

// welch reports whether two means differ at 5 %, by the t-test for unequal variances.
func welch(a, b []float64) bool {
	moments := func(xs []float64) (mean, variance float64) {
		for _, x := range xs {
			mean += x / float64(len(xs))
		}
		for _, x := range xs {
			variance += (x - mean) * (x - mean) / float64(len(xs)-1)
		}
		return mean, variance
	}
	ma, va := moments(a)
	mb, vb := moments(b)
	ea, eb := va/float64(len(a)), vb/float64(len(b))
	freedom := (ea + eb) * (ea + eb) / (ea*ea/float64(len(a)-1) + eb*eb/float64(len(b)-1))
	// The 97.5 % quantile of t by its expansion around the normal one (Cornish & Fisher).
	const z = 1.959964
	t := z + (z*z*z+z)/(4*freedom) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*freedom*freedom)
	return math.Abs(ma-mb) > t*math.Sqrt(ea+eb)
}
