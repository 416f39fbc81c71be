package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A lineScore is how samples of one program went to its lines.
type lineScore struct {
	samples int
	right   float64 // samples whose line is right: of each line, as many as it may have
	held    float64 // and those whose range holds a line that has too few
	ranges  float64
}

// A lineTruth is what is known of a program: its lines' shares, and the most that its loop may take.
type lineTruth struct {
	lines []float64
	loop  float64
	ns    float64 // of a call
	rest  float64 // of that, what all lines together have not: ablation says nothing of it
}

// lines measures which line `moonlap profile` names in programs whose shares by line are known: by ablation, each line left out in turn,
// timed by `moonlap bench`. Beside it stand LuaJIT's own -jp=l, and another moonlap, as it was before.
func lines(moonlap, before, kinds string, length time.Duration) error {
	which, err := regexp.Compile(kinds)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "moonlap-lines.")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	fmt.Println("| kind | samples | line right | range holds it | ranges | -jp=l | before | ablation leaves |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, f := range families {
		if !which.MatchString(f.name) {
			continue
		}
		var sum, jp, old lineScore
		var rest []string
		for n, cost := range costs {
			truth, err := ablate(folder, moonlap, f, cost, n%2 == 1)
			if err != nil {
				log.Print(f.name, ": once more: ", err)
				truth, err = ablate(folder, moonlap, f, cost, n%2 == 1)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			rest = append(rest, fmt.Sprintf("%+.0f %%", 100*truth.rest))
			run := []string{"luajit", filepath.Join(folder, "driver.lua"), filepath.Join(folder, "whole.lua"),
				strconv.Itoa(max(1, int(float64(length.Nanoseconds())/truth.ns)))}
			s, err := sampled(folder, moonlap, f, run, truth)
			if err != nil {
				return err
			}
			sum.add(s)
			if before != "" {
				if s, err = sampled(folder, before, f, run, truth); err != nil {
					return err
				}
				old.add(s)
			}
			if s, err = byLuaJIT(run, truth); err != nil {
				return err
			}
			jp.add(s)
		}
		held := "–"
		if sum.ranges > 0 {
			held = share(sum.held, sum.ranges)
		}
		fmt.Printf("| %s | %d | %s | %s | %s | %s | %s | %s |\n", f.name, sum.samples, share(sum.right, float64(sum.samples)-sum.ranges), held,
			share(sum.ranges, float64(sum.samples)), either(f.calls, jp), either(before == "", old), strings.Join(rest, ", "))
	}
	return nil
}

func either(not bool, s lineScore) string {
	if not {
		return "–"
	}
	return share(s.right, float64(s.samples))
}

func (s *lineScore) add(o lineScore) {
	s.samples += o.samples
	s.right += o.right
	s.held += o.held
	s.ranges += o.ranges
}

func share(part, of float64) string {
	if of <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*part/of)
}

// ablate writes a program, and what it is without each of its lines and without any, and has them timed, interleaved.
func ablate(folder, moonlap string, f family, cost []int, coroutine bool) (truth lineTruth, err error) {
	var names []string
	for without := empty; without < len(cost); without++ {
		name := strconv.Itoa(without)
		switch without {
		case empty:
			name = "empty"
		case whole:
			name = "whole"
		}
		names = append(names, strconv.Quote(name))
		if err := os.WriteFile(filepath.Join(folder, name+".lua"), []byte(f.program(cost, without, coroutine)), 0o644); err != nil {
			return truth, err
		}
	}
	file := filepath.Join(folder, "cases.lua")
	if err := os.WriteFile(file, fmt.Appendf(nil, cases, strings.Join(names, ", "), f.rounds()), 0o644); err != nil {
		return truth, err
	}
	if err := os.WriteFile(filepath.Join(folder, "driver.lua"), fmt.Appendf(nil, driver, f.rounds()), 0o644); err != nil {
		return truth, err
	}
	cmd := exec.Command(moonlap, "bench", "--runtime", "luajit", "--processes", "2", "--format", "json", file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return truth, fmt.Errorf("bench: %w: %s", err, out)
	}
	var result struct {
		Cases []struct {
			Name string
			Ns   struct{ Min float64 } `json:"ns_per_call"`
		}
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return truth, err
	}
	ns := map[string]float64{}
	for _, c := range result.Cases {
		ns[c.Name] = c.Ns.Min
	}
	truth.ns = ns["whole"]
	all := 0.0
	for n := range cost {
		truth.lines = append(truth.lines, math.Max(0, ns["whole"]-ns[strconv.Itoa(n)]))
		all += truth.lines[n]
	}
	for n := range truth.lines {
		truth.lines[n] /= all
	}
	truth.loop = ns["empty"] / ns["whole"]
	truth.rest = (ns["whole"] - all - ns["empty"]) / ns["whole"]
	return truth, nil
}

// sampled has moonlap profile a program and compares the lines of work, also where those of a function that it has called are innermost.
func sampled(folder, moonlap string, of family, run []string, truth lineTruth) (s lineScore, err error) {
	out := filepath.Join(folder, "profile.json")
	cmd := exec.Command(moonlap, append([]string{"profile", "--hz", "997", "--out", out, "--"}, run...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return s, fmt.Errorf("%w\n%s", err, text)
	}
	var p struct {
		Stacks []struct {
			Count  int
			Frames []struct {
				Function string
				Line     int
				Last     int `json:"last_line"`
				Compiled bool
			}
		}
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return s, err
	}
	count := map[int]float64{}
	spans := map[[2]int]float64{}
	for _, stack := range p.Stacks {
		for _, f := range stack.Frames {
			if f.Function != "work" || !f.Compiled && !of.stops {
				continue
			}
			s.samples += stack.Count
			if f.Last > f.Line {
				spans[[2]int{f.Line - firstLine, f.Last - firstLine}] += float64(stack.Count)
			} else {
				count[f.Line-firstLine] += float64(stack.Count)
			}
			break
		}
	}
	left := s.judge(count, truth)
	for span, c := range spans {
		s.ranges += c
		for n := max(0, span[0]); n <= min(span[1], len(left)-1); n++ {
			part := math.Min(c, left[n])
			left[n], c, s.held = left[n]-part, c-part, s.held+part
		}
	}
	if os.Getenv("VERBOSE") != "" {
		log.Printf("%v, loop %.3f: %v %v", truth.lines, truth.loop, count, spans)
	}
	return s, nil
}

// judge counts the samples whose line is right, and returns how many more each line may have.
func (s *lineScore) judge(count map[int]float64, truth lineTruth) (left []float64) {
	const loop = -1
	ofLoop := math.Min(count[loop], truth.loop*float64(s.samples))
	s.right += ofLoop
	for n, part := range truth.lines {
		may := part * (float64(s.samples) - ofLoop)
		s.right += math.Min(count[n], may)
		left = append(left, math.Max(0, may-count[n]))
	}
	return left
}

var jpLine = regexp.MustCompile(`(?m)^\s*(\d+)\s+\S+:(\d+)\s*$`)

// byLuaJIT is what luajit -jp=l says of a program.
func byLuaJIT(run []string, truth lineTruth) (s lineScore, err error) {
	cmd := exec.Command(run[0], append([]string{"-jp=lri1m0"}, run[1:]...)...)
	out, err := cmd.Output()
	if err != nil {
		return s, err
	}
	count := map[int]float64{}
	for _, m := range jpLine.FindAllStringSubmatch(string(out), -1) {
		samples, _ := strconv.Atoi(m[1])
		line, _ := strconv.Atoi(m[2])
		count[line-firstLine] += float64(samples)
		s.samples += samples
	}
	s.judge(count, truth)
	return s, nil
}
