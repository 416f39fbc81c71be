package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var hunk = regexp.MustCompile(`^@@ -(\d+)`)

// removed are the lines that a unified diff takes out: file and line of the old side.
func removed(diff string) map[string]bool {
	lines := map[string]bool{}
	file, at := "", 0
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "--- a/"):
			file = strings.Fields(strings.TrimPrefix(line, "--- a/"))[0]
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case hunk.MatchString(line):
			at, _ = strconv.Atoi(hunk.FindStringSubmatch(line)[1])
		case strings.HasPrefix(line, "-"):
			lines[fmt.Sprintf("%s:%d", file, at)] = true
			at++
		case strings.HasPrefix(line, " "), line == "\n":
			at++
		}
	}
	return lines
}

// A prediction is the sum of what findings promise, with the ends of its interval.
type prediction struct {
	findings         int
	share, low, high float64
	ns               float64
}

// add takes independent errors together.
func (p *prediction) add(list []finding) {
	below, above := 0.0, 0.0
	for _, f := range list {
		p.findings++
		if f.Gain == nil {
			continue
		}
		p.share += f.Gain.Share
		p.ns += f.Gain.NS
		below += (f.Gain.Share - f.Gain.Low) * (f.Gain.Share - f.Gain.Low)
		above += (f.Gain.High - f.Gain.Share) * (f.Gain.High - f.Gain.Share)
	}
	p.low, p.high = max(0, p.share-math.Sqrt(below)), min(0.99, p.share+math.Sqrt(above))
}

// times is how many times faster it is without a share of the time.
func times(share float64) float64 { return 1 / (1 - share) }

// gains holds what lint predicts against what fixing it gained, for the gateways whose fixes lie beside the projects as
// NAME.patch: they consist of other people's code, so none is here.
func gains(moonlap, corpus, names, seconds string) error {
	list, err := readGateways(names)
	if err != nil {
		return err
	}
	fmt.Println("| gateway | fixed | predicted | measured: old against new, server CPU a request |\n| --- | ---: | ---: | ---: |")
	missing := 0
	for _, g := range list {
		fixes, err := os.ReadFile(filepath.Join(corpus, g.name+".patch"))
		if errors.Is(err, os.ErrNotExist) {
			missing++
			continue
		}
		if err != nil {
			return err
		}
		p, r, err := g.gained(moonlap, corpus, string(fixes), seconds)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		fmt.Printf("| %s | %d findings | %.2f µs: %.2f times faster (%.2f–%.2f) | %s: %.2f times (%.2f–%.2f) |\n", g.about, p.findings, p.ns/1000,
			times(p.share), times(p.low), times(p.high), r.Verdict, r.Ratio.Estimate, r.Ratio.Low, r.Ratio.High)
	}
	if missing == len(list) {
		return fmt.Errorf("%s has no fixes: write a unified diff for one of the gateways, as lor.patch", corpus)
	}
	return nil
}

// A comparison is what of load's JSON is looked at here.
type comparison struct {
	Metric, Verdict string
	Ratio           struct{ Estimate, Low, High float64 }
}

// gained fixes a copy of the projects, and compares both copies under load.
func (g gateway) gained(moonlap, corpus, fixes, seconds string) (p prediction, c comparison, err error) {
	folder, err := folderFor("gains")
	if err != nil {
		return p, c, err
	}
	defer os.RemoveAll(folder)
	confs := map[string]string{}
	port, err := freePort()
	if err != nil {
		return p, c, err
	}
	for _, side := range []string{"old", "new"} {
		root := filepath.Join(folder, side)
		if err := g.copyProjects(corpus, root); err != nil {
			return p, c, err
		}
		if side == "new" {
			if err := patch(root, fixes); err != nil {
				return p, c, err
			}
		}
		if confs[side], err = g.write(root, "nginx.conf", root, port); err != nil {
			return p, c, err
		}
	}
	old := filepath.Join(folder, "old")
	url := "http://127.0.0.1:" + port + g.url
	stop, err := start(confs["old"], old, url)
	if err != nil {
		return p, c, err
	}
	found, err := g.underLoad(moonlap, old, confs["old"], url, seconds)
	stop()
	if err != nil {
		return p, c, err
	}
	gone := removed(fixes)
	p.add(slices.DeleteFunc(found, func(f finding) bool { return !gone[fmt.Sprintf("%s:%d", f.File, f.Line)] }))
	c, err = compareConfs(moonlap, folder, confs["new"], confs["old"], url, seconds)
	return p, c, err
}

// copyProjects copies the projects that a gateway reads.
func (g gateway) copyProjects(corpus, to string) error {
	folders, err := os.ReadDir(corpus)
	if err != nil {
		return err
	}
	for _, f := range folders {
		if !strings.Contains(g.text, "CORPUS/"+f.Name()+"/") {
			continue
		}
		if err := os.CopyFS(filepath.Join(to, f.Name()), os.DirFS(filepath.Join(corpus, f.Name()))); err != nil {
			return err
		}
	}
	return nil
}

func patch(folder, fixes string) error {
	cmd := exec.Command("patch", "-p1", "-s", "-d", folder)
	cmd.Stdin = strings.NewReader(fixes)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("patch: %w: %s", err, out)
	}
	return nil
}

func compareConfs(moonlap, folder, a, b, url, seconds string) (c comparison, err error) {
	cmd := exec.Command(moonlap, "load", "--format", "json", "--duration", seconds, "--connections", "4", "--metrics", "cpu", "--ab-conf", a, b, url)
	cmd.Dir = folder
	var said strings.Builder
	cmd.Stderr = &said
	out, err := output(cmd)
	var result struct{ Comparisons []comparison }
	if bad := json.Unmarshal(out, &result); bad != nil || len(result.Comparisons) == 0 {
		return c, fmt.Errorf("load: %v: %s%s", err, said.String(), out)
	}
	return result.Comparisons[0], nil
}
