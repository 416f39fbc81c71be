package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	samples  int
	right    float64 // samples whose line is right: of each line, as many as it may have
	held     float64 // and those whose range holds a line that has too few
	ranges   float64
	compiled float64
}

// lines measures which line `moonlap profile` names in programs whose shares by line are known: by ablation, each line left out in turn,
// in CPU time. Beside it stand LuaJIT's own -jp=l, and another moonlap, as it was before.
func lines(moonlap, before string, length time.Duration) error {
	folder, err := os.MkdirTemp("", "moonlap-lines.")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	fmt.Println("| family | samples | right | with ranges | ranges | -jp=l | before |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	for _, f := range families {
		var sum, jp, old lineScore
		for n, cost := range costs {
			rounds, truth, err := ablate(folder, f, cost, n%2 == 1, length)
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			file := filepath.Join(folder, "program.lua")
			if err := os.WriteFile(file, []byte(f.program(cost, -1, n%2 == 1)), 0o644); err != nil {
				return err
			}
			s, err := sampled(folder, moonlap, file, rounds, truth)
			if err != nil {
				return err
			}
			sum.add(s)
			if before != "" {
				if s, err = sampled(folder, before, file, rounds, truth); err != nil {
					return err
				}
				old.add(s)
			}
			if s, err = byLuaJIT(file, rounds, truth); err != nil {
				return err
			}
			jp.add(s)
		}
		fmt.Printf("| %s | %d | %s | %s | %s | %s | %s |\n", f.name, sum.samples, sum.part(sum.right), sum.part(sum.right+sum.held), sum.part(sum.ranges),
			either(f.calls, jp), either(before == "", old))
	}
	return nil
}

func either(not bool, s lineScore) string {
	if not {
		return "–"
	}
	return s.part(s.right)
}

func (s *lineScore) add(o lineScore) {
	s.samples += o.samples
	s.right += o.right
	s.held += o.held
	s.ranges += o.ranges
}

func (s lineScore) part(n float64) string {
	return fmt.Sprintf("%.1f %%", 100*n/math.Max(1, float64(s.samples)))
}

// ablate times a program, and what it is without each of its lines, interleaved; it returns the rounds to sample, and the shares.
func ablate(folder string, f family, cost []int, coroutine bool, length time.Duration) (rounds int, truth []float64, err error) {
	const runs, sampled = 4, 8 // times the length of one
	file := filepath.Join(folder, "part.lua")
	clock := func(without, n int) (float64, error) {
		if err := os.WriteFile(file, []byte(f.program(cost, without, coroutine)), 0o644); err != nil {
			return 0, err
		}
		var out bytes.Buffer
		cmd := exec.Command("luajit", file, strconv.Itoa(n))
		cmd.Stderr = &out
		if err := cmd.Run(); err != nil {
			return 0, fmt.Errorf("%w: %s", err, out.String())
		}
		return strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
	}
	rounds = 100_000
	took, err := clock(-1, rounds)
	if err != nil {
		return 0, nil, err
	}
	rounds = int(float64(rounds) * length.Seconds() / math.Max(took, 1e-4))
	best := make([]float64, len(cost)+1)
	for range runs {
		for n := range best {
			took, err := clock(n-1, rounds)
			if err != nil {
				return 0, nil, err
			}
			if best[n] == 0 || took < best[n] {
				best[n] = took
			}
		}
	}
	all := 0.0
	for n := range cost {
		truth = append(truth, math.Max(0, best[0]-best[n+1]))
		all += truth[n]
	}
	for n := range truth {
		truth[n] /= all
	}
	return rounds * sampled, truth, nil
}

// sampled has moonlap profile a program and compares the lines of work, also where those of a function that it has called are innermost.
func sampled(folder, moonlap, file string, rounds int, truth []float64) (s lineScore, err error) {
	out := filepath.Join(folder, "profile.json")
	cmd := exec.Command(moonlap, "profile", "--hz", "997", "--out", out, "--", "luajit", file, strconv.Itoa(rounds))
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
	count := make([]float64, len(truth))
	spans := map[[2]int]float64{}
	for _, stack := range p.Stacks {
		for _, f := range stack.Frames {
			if f.Function != "work" || !f.Compiled {
				continue
			}
			n := f.Line - firstLine
			switch {
			case f.Last > f.Line:
				spans[[2]int{n, f.Last - firstLine}] += float64(stack.Count)
			case n >= 0 && n < len(truth):
				count[n] += float64(stack.Count)
			case n == -1 || n == -2: // the loop itself, which ablation leaves
				continue
			}
			s.samples += stack.Count
			break
		}
	}
	left := make([]float64, len(truth))
	for n, c := range count {
		may := truth[n] * float64(s.samples)
		s.right += math.Min(c, may)
		left[n] = math.Max(0, may-c)
	}
	for span, c := range spans {
		s.ranges += c
		for n := max(0, span[0]); n <= min(span[1], len(left)-1); n++ {
			part := math.Min(c, left[n])
			left[n], c, s.held = left[n]-part, c-part, s.held+part
		}
	}
	return s, nil
}

var jpLine = regexp.MustCompile(`(?m)^\s*(\d+)\s+\S+:(\d+)\s*$`)

// byLuaJIT is what luajit -jp=l says of a program.
func byLuaJIT(file string, rounds int, truth []float64) (s lineScore, err error) {
	cmd := exec.Command("luajit", "-jp=lri1m0", file, strconv.Itoa(rounds))
	out, err := cmd.Output()
	if err != nil {
		return s, err
	}
	count := make([]float64, len(truth))
	for _, m := range jpLine.FindAllStringSubmatch(string(out), -1) {
		samples, _ := strconv.Atoi(m[1])
		line, _ := strconv.Atoi(m[2])
		if n := line - firstLine; n >= 0 && n < len(truth) {
			count[n] += float64(samples)
			s.samples += samples
		}
	}
	for n, c := range count {
		s.right += math.Min(c, truth[n]*float64(s.samples))
	}
	return s, nil
}
