package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// complete counts which stacks are whole: with `moonlap profile` and with perf, at the same load.
func complete(moonlap string, length time.Duration) error {
	s, err := startNginx(1)
	if err != nil {
		return err
	}
	defer s.stop()
	fmt.Println("| load | tool | looks | reach the program's start | with Lua | Lua not resolved |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, path := range paths {
		ctx, cancel := context.WithCancel(context.Background())
		failed := make(chan error)
		go func() { _, err := s.load(ctx, path, connections); failed <- err }()
		err := s.completeMoonlap(moonlap, path, length)
		for _, way := range []string{"fp", "dwarf"} {
			if err == nil {
				err = s.completePerf(path, way, length)
			}
		}
		cancel()
		if e := <-failed; err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *server) completeMoonlap(moonlap, path string, length time.Duration) error {
	profile, err := s.profile(moonlap, "--hz", "199", "--duration", length.String())
	if err != nil {
		return err
	}
	looks, whole, lua, unresolved := profile.Head.Failed+profile.Head.Lost, 0, profile.Head.Failed+profile.Head.Lost, profile.Head.Failed+profile.Head.Lost
	for _, stack := range profile.Stacks {
		looks += stack.Count
		if len(stack.Frames) > 0 && stack.Frames[0].Function == "_start" {
			whole += stack.Count
		}
		if stack.Labels["state"] == "" {
			continue
		}
		lua += stack.Count
		named := false
		for _, f := range stack.Frames {
			named = named || f.Kind == "lua"
		}
		if !named {
			unresolved += stack.Count
		}
	}
	fmt.Printf("| %s | moonlap | %d | %s | %d | %s |\n", path, looks, percent(whole, looks), lua, percent(unresolved, lua))
	return nil
}

func (s *server) completePerf(path, way string, length time.Duration) error {
	file := filepath.Join(s.folder, "perf.data")
	out, err := exec.Command("perf", "record", "-q", "-e", "cpu-clock", "-F", "199", "--call-graph", way, "-p", fmt.Sprint(s.worker),
		"-o", file, "--", "sleep", fmt.Sprint(length.Seconds())).CombinedOutput()
	if err != nil {
		return fmt.Errorf("perf record: %w\n%s", err, out)
	}
	script := exec.Command("perf", "script", "-i", file, "-F", "ip,sym")
	var errs bytes.Buffer
	script.Stderr = &errs
	out, err = script.Output()
	if err != nil {
		return fmt.Errorf("perf script: %w\n%s", err, errs.String())
	}
	looks, whole := 0, 0
	for stack := range strings.SplitSeq(string(out), "\n\n") {
		if strings.TrimSpace(stack) == "" {
			continue
		}
		looks++
		// nginx's main is exported, and what calls it is libc's or _start.
		for _, start := range []string{" main\n", " __libc_start_main", " _start\n"} {
			if strings.Contains(stack+"\n", start) {
				whole++
				break
			}
		}
	}
	fmt.Printf("| %s | perf, %s | %d | %s | | |\n", path, way, looks, percent(whole, looks))
	return nil
}

func percent(n, all int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(1, all))) }
