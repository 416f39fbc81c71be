package main

import (
	"bytes"
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

// spills measures `moonlap heap --spill` for heaps of as many objects as objects says, in memory cgroups that hold moonlap
// alone; limits are theirs, in MB. All of them have to find the same as the first one of a heap.
func spills(moonlap, folder string, objects, limits []int) error {
	fmt.Println("| objects | Lua heap | limit | moonlap's own memory | moonlap took | pause |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, n := range objects {
		if err := spillsOf(moonlap, folder, n, limits); err != nil {
			return err
		}
	}
	return nil
}

func spillsOf(moonlap, folder string, objects int, limits []int) error {
	s, err := startNginx(1)
	if err != nil {
		return err
	}
	defer s.stop()
	if _, err := s.get(fmt.Sprintf("/hold?%d", objects)); err != nil {
		return err
	}
	var first string
	for _, limit := range limits {
		l, holders, err := s.spilt(moonlap, folder, limit)
		if err != nil {
			return fmt.Errorf("with %d MB: %w", limit, err)
		}
		h := l.heap
		fmt.Printf("| %d | %.1f MB | %d MB | %.1f MB | %.0f s | %v |\n", h.Objects, mega(h.Total), limit, mega(l.memory), l.took.Seconds(), ms(time.Duration(h.Pause)))
		if first == "" {
			first = holders
		}
		if holders != first {
			return fmt.Errorf("with %d MB other holders were found than with %d MB", limit, limits[0])
		}
	}
	return nil
}

// spilt runs moonlap in a cgroup, and returns the holders that it found, too. Its own memory is what lies in no file.
func (s *server) spilt(moonlap, folder string, limit int) (l look, holders string, err error) {
	group := fmt.Sprintf("/sys/fs/cgroup/memory/probe-%d", os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil {
		return l, "", fmt.Errorf("%w (it takes root and memory cgroups of version 1)", err)
	}
	defer func() {
		for range 50 { // what it has cached is given back first
			if os.Remove(group) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	if err := os.WriteFile(filepath.Join(group, "memory.limit_in_bytes"), fmt.Appendf(nil, "%dM", limit), 0); err != nil {
		return l, "", err
	}
	run := exec.Command("sh", "-c", `echo 0 >"$0/cgroup.procs" && exec "$@"`, group,
		moonlap, "heap", "--pid", strconv.Itoa(s.worker), "--pause", "5m", "--spill", folder, "--json")
	var out, complaint bytes.Buffer
	run.Stdout, run.Stderr = &out, &complaint
	began := time.Now()
	if err := run.Start(); err != nil {
		return l, "", err
	}
	done := make(chan error, 1)
	go func() { done <- run.Wait() }()
	for ended := false; !ended; {
		select {
		case err = <-done:
			ended = true
		case <-time.After(50 * time.Millisecond):
			l.memory = max(l.memory, anonymous(run.Process.Pid))
		}
	}
	l.took = time.Since(began)
	if err != nil {
		return l, "", fmt.Errorf("%w: %s", err, complaint.String())
	}
	var snapshot struct{ Heaps []json.RawMessage }
	var found struct{ Holders json.RawMessage }
	if err := json.Unmarshal(out.Bytes(), &snapshot); err != nil {
		return l, "", err
	}
	err = errors.Join(json.Unmarshal(snapshot.Heaps[0], &l.heap), json.Unmarshal(snapshot.Heaps[0], &found))
	return l, string(found.Holders), err
}

// anonymous is a process's memory that lies in no file, in bytes; 0 where it has ended.
func anonymous(pid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), "RssAnon:")
	n, _ := strconv.ParseInt(strings.TrimSpace(strings.Split(rest, "kB")[0]), 10, 64)
	return n << 10
}
