package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// processesOfLevels have two or more on the rare level in 97 % of runs.
const processesOfLevels = 30

// A levelCount is in how many runs both levels were found, and one level was told as two or as never steady.
type levelCount struct {
	found, falseModes, never, done int
	loads                          []string
}

func (n *levelCount) add(text []byte) error {
	var said report
	if err := json.Unmarshal(text, &said); err != nil {
		return err
	}
	n.done++
	for _, c := range said.Cases {
		if c.Name == "two levels" {
			n.found += yes(len(c.Modes) > 1).count()
			continue
		}
		n.falseModes += yes(len(c.Modes) > 1).count()
		n.never += yes(c.Steady == "none").count()
	}
	return nil
}

func (n *levelCount) String() string {
	return fmt.Sprintf("%d runs of %d processes: two levels found in %d, %s; one level told as several in %d, as never steady in %d",
		n.done, processesOfLevels, n.found, share(n.found, n.done), n.falseModes, n.never)
}

// countModes runs modes.lua again and again. The records stay in the folder. The bench file is a copy: a run of an hour does not
// end because somebody checks out another commit meanwhile.
func countModes(ctx context.Context, runs int, moonlap, folder string) error {
	text, err := os.ReadFile("modes.lua")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	file := filepath.Join(folder, "modes.lua")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	count, begun := levelCount{loads: []string{loadNow()}}, time.Now()
	for range runs {
		path := filepath.Join(folder, time.Now().UTC().Format("20060102-150405")+".jsonl")
		out, err := exec.CommandContext(ctx, moonlap, "bench", "--runtime", "luajit", "--processes", strconv.Itoa(processesOfLevels),
			"--time", "2s", "--format", "json", "--out", path, file).Output()
		if ctx.Err() != nil {
			os.Remove(path)
			break
		}
		if len(out) == 0 {
			return because(err)
		}
		if err := errors.Join(count.add(out), pack(path)); err != nil {
			return err
		}
		count.loads = append(count.loads, loadNow())
		fmt.Fprintln(os.Stderr, &count)
	}
	fmt.Printf("from %s, load %s\n%s\n", begun.UTC().Format("2006-01-02 15:04"), strings.Join(count.loads, " "), &count)
	return nil
}

// judgeModes reads the records of such runs again.
func judgeModes(moonlap, folder string) error {
	paths, err := filepath.Glob(filepath.Join(folder, "*.jsonl.gz"))
	if err != nil {
		return err
	}
	var count levelCount
	for _, path := range paths {
		out, err := exec.Command(moonlap, "report", "--format", "json", path).Output()
		if len(out) == 0 {
			return fmt.Errorf("%s: %w", path, because(err))
		}
		if err := count.add(out); err != nil {
			return err
		}
	}
	fmt.Println(&count)
	return nil
}

// because is why a program ended, with what it said.
func because(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("moonlap: %w\n%s", err, exit.Stderr)
	}
	return fmt.Errorf("moonlap: %w", err)
}

func loadNow() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
