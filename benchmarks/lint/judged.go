package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// verdicts are findings judged by hand: project, commit, place, rule, right or wrong, on a request path or not, and why wrong.
//
//go:embed judged.tsv
var verdicts string

type tally struct{ all, wrong, path int }

func (t *tally) add(right, path string) {
	t.all++
	if right == "wrong" {
		t.wrong++
	}
	if path == "yes" {
		t.path++
	}
}

func (t tally) String() string {
	return fmt.Sprintf("%3d | %3d | %3d", t.all, t.wrong, t.path)
}

// readJudged are the findings of judged.tsv, by project, place and rule.
func readJudged() map[string][]string {
	known := map[string][]string{}
	for line := range strings.Lines(verdicts) {
		words := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(words) == 7 && words[0] != "project" {
			known[filepath.Base(words[0])+" "+words[2]+" "+words[3]] = words
		}
	}
	return known
}

func judged(moonlap, corpus string) error {
	known := readJudged()
	folders, err := os.ReadDir(corpus)
	if err != nil {
		return err
	}
	var total tally
	byRule, projects, lines, open := map[string]*tally{}, 0, 0, 0
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		cmd := exec.Command(moonlap, "lint", "--format", "json", ".")
		cmd.Dir = filepath.Join(corpus, folder.Name())
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+os.TempDir()+"/no-prices-here")
		out, err := output(cmd)
		if err != nil {
			return fmt.Errorf("%s: %w", folder.Name(), err)
		}
		var report struct {
			Lines    int
			Findings []struct {
				Rule, File string
				Line       int
			}
		}
		if err := json.Unmarshal(out, &report); err != nil {
			return fmt.Errorf("%s: %w", folder.Name(), err)
		}
		projects++
		lines += report.Lines
		for _, f := range report.Findings {
			words := known[fmt.Sprintf("%s %s:%d %s", folder.Name(), f.File, f.Line, f.Rule)]
			if words == nil {
				open++
				fmt.Printf("not judged: %s/%s:%d %s\n", folder.Name(), f.File, f.Line, f.Rule)
				continue
			}
			if byRule[f.Rule] == nil {
				byRule[f.Rule] = &tally{}
			}
			byRule[f.Rule].add(words[4], words[5])
			total.add(words[4], words[5])
		}
	}
	fmt.Println("| rule | findings | wrong | on a request path |\n| --- | ---: | ---: | ---: |")
	rules := slices.SortedFunc(maps.Keys(byRule), func(a, b string) int { return byRule[b].all - byRule[a].all })
	for _, rule := range rules {
		fmt.Printf("| %s | %s |\n", rule, byRule[rule])
	}
	fmt.Printf("| all | %s |\n", total)
	n := float64(max(total.all, 1))
	fmt.Printf("\n%d projects, %d lines; %d findings judged, %d not. Wrong: %.1f %%. On a request path: %.1f %%.\n",
		projects, lines, total.all, open, 100*float64(total.wrong)/n, 100*float64(total.path)/n)
	return nil
}
