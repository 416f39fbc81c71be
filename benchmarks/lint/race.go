package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// race times both linters on one folder, interleaved, each as a whole process.
func race(moonlap, folder string, rounds int) error {
	lines, files := 0, 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".lua") {
			return err
		}
		text, err := os.ReadFile(path)
		lines += bytes.Count(text, []byte("\n"))
		files++
		return err
	})
	if err != nil {
		return err
	}
	sides := [][]string{{moonlap, "lint", "--format", "json", folder}, {"luacheck", "--no-config", "-qqq", "-j", "1", folder}}
	wall, cpu := make([][]float64, len(sides)), make([][]float64, len(sides))
	for range rounds {
		for i, side := range sides {
			cmd := exec.Command(side[0], side[1:]...)
			cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
			begun := time.Now()
			err := cmd.Run()
			if _, ok := err.(*exec.ExitError); err != nil && !ok {
				return err
			}
			used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			wall[i] = append(wall[i], time.Since(begun).Seconds())
			cpu[i] = append(cpu[i], float64(used.Utime.Nano()+used.Stime.Nano())/1e9)
		}
	}
	fmt.Printf("%d files, %d lines, %d rounds, interleaved\n\n| | s for 100,000 lines | CPU s for 100,000 lines | ratio of CPU time, per round |\n| --- | ---: | ---: | ---: |\n", files, lines, rounds)
	per := float64(lines) / 1e5
	for i, side := range sides {
		var ratios []float64
		for k := range rounds {
			ratios = append(ratios, cpu[i][k]/cpu[0][k])
		}
		name := filepath.Base(side[0]) + " " + strings.Join(side[1:len(side)-1], " ")
		fmt.Printf("| `%s` | %s | %s | %s |\n", name, spread(wall[i], 1/per), spread(cpu[i], 1/per), spread(ratios, 1))
	}
	return nil
}

// spread is the median with the least and the greatest.
func spread(list []float64, by float64) string {
	sorted := slices.Sorted(slices.Values(list))
	return fmt.Sprintf("%.2f (%.2f–%.2f)", sorted[len(sorted)/2]*by, sorted[0]*by, sorted[len(sorted)-1]*by)
}
