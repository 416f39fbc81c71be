package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// countModes runs modes.lua again and again, and counts where both levels were found, and where one level was told as two
// or as never steady. 30 processes have two or more on the rare level in 97 % of runs.
func countModes(ctx context.Context, runs int, moonlap string) error {
	const processes = 30
	found, falseModes, never, done := 0, 0, 0, 0
	begun, load := time.Now(), []string{loadNow()}
	for range runs {
		out, err := exec.CommandContext(ctx, moonlap, "bench", "--runtime", "luajit", "--processes", strconv.Itoa(processes),
			"--time", "2s", "--format", "json", "modes.lua").Output()
		if ctx.Err() != nil {
			break
		}
		if len(out) == 0 {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return fmt.Errorf("moonlap bench: %w\n%s", err, exit.Stderr)
			}
			return fmt.Errorf("moonlap bench: %w", err)
		}
		var said report
		if err := json.Unmarshal(out, &said); err != nil {
			return err
		}
		done++
		for _, c := range said.Cases {
			switch {
			case c.Name == "two levels":
				found += yes(len(c.Modes) > 1).count()
			default:
				falseModes += yes(len(c.Modes) > 1).count()
				never += yes(c.Steady == "none").count()
			}
		}
		load = append(load, loadNow())
		fmt.Fprintf(os.Stderr, "%d of %d: two levels found in %d, one told as several in %d, never steady %d\n", done, runs, found, falseModes, never)
	}
	fmt.Printf("%d runs of %d processes from %s, load %s: two levels found in %s, one level told as several in %s, as never steady in %s\n",
		done, processes, begun.UTC().Format("2006-01-02 15:04"), strings.Join(load, " "), share(found, done), share(falseModes, done), share(never, done))
	return nil
}

func loadNow() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
