package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// heaps measures what `moonlap heap` needs for heaps of N objects: its own memory, its time, and how
// long the worker stands still, by what moonlap says and by the worker's own clock. Then it gives the
// largest heap less time than its copy takes.
func heaps(moonlap string, objects []int) error {
	fmt.Println("| objects | Lua heap | copied | moonlap's memory | times the heap | bytes an object beyond the copy | moonlap took | pause | by the worker |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	var s *server
	var last look
	for _, n := range objects {
		if s != nil {
			s.stop()
		}
		var err error
		if s, err = startNginx(1); err != nil {
			return err
		}
		defer s.stop()
		if _, err := s.get(fmt.Sprintf("/hold?%d", n)); err != nil {
			return err
		}
		if last, err = s.heap(moonlap, time.Minute); err != nil {
			return err
		}
		h := last.heap
		fmt.Printf("| %d | %.1f MB | %.1f MB | %.1f MB | %.2f | %.0f | %.2f s | %v | %v |\n", h.Objects, mega(h.Total), mega(h.Copied), mega(last.memory),
			float64(last.memory)/float64(h.Total), float64(last.memory-h.Copied)/float64(h.Objects), last.took.Seconds(), ms(time.Duration(h.Pause)), ms(last.gap))
	}
	return s.bounds(moonlap, time.Duration(last.heap.Pause))
}

// bounds gives moonlap more or less time than the copy took once.
func (s *server) bounds(moonlap string, once time.Duration) error {
	again, err := s.heap(moonlap, time.Minute)
	if err != nil {
		return err
	}
	once = min(once, time.Duration(again.heap.Pause)) // other programs disturb it
	fmt.Printf("\nThe last of these again, in %v, and with less time:\n\n| --pause | by the worker | outcome |\n| --- | --- | --- |\n", ms(once))
	still, err := s.spinWhile(func() error { time.Sleep(5 * time.Second); return nil })
	if err != nil {
		return err
	}
	fmt.Printf("| (moonlap not running) | %v | |\n", ms(still))
	for _, part := range []float64{0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2} {
		pause := time.Duration(part * float64(once)).Round(time.Millisecond)
		l, err := s.heap(moonlap, pause)
		var refused *exec.ExitError
		if err != nil && !errors.As(err, &refused) {
			return err
		}
		_, said, _ := strings.Cut(l.said, strconv.Itoa(s.worker)+": ")
		fmt.Printf("| %v | %v | %s |\n", pause, ms(l.gap), cmp.Or(said, l.said))
	}
	return nil
}

func mega(n int64) float64 { return float64(n) / 1e6 }

func ms(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// A look is one run of moonlap heap.
type look struct {
	heap struct {
		Objects int64
		Total   int64 `json:"total_bytes"`
		Copied  int64 `json:"copied_bytes"`
		Pause   int64 `json:"pause_ns"`
	}
	memory int64         // most that moonlap had resident, bytes
	took   time.Duration // all of it
	gap    time.Duration // longest between two readings of the clock by the worker
	said   string
}

// heap runs moonlap while the worker does nothing but read its clock. Where moonlap gives up, the error is
// its exit status, and said what it said.
func (s *server) heap(moonlap string, pause time.Duration) (l look, err error) {
	run := exec.Command(moonlap, "heap", "--pid", strconv.Itoa(s.worker), "--pause", pause.String(), "--json")
	var out, complaint bytes.Buffer
	run.Stdout, run.Stderr = &out, &complaint
	began := time.Now()
	l.gap, err = s.spinWhile(run.Run)
	l.took, l.said = time.Since(began), strings.TrimSpace(complaint.String())
	if err != nil {
		return l, err
	}
	l.memory = run.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024
	var snapshot struct{ Heaps []json.RawMessage }
	if err := json.Unmarshal(out.Bytes(), &snapshot); err != nil {
		return l, err
	}
	if err := json.Unmarshal(snapshot.Heaps[0], &l.heap); err != nil {
		return l, err
	}
	l.said = fmt.Sprintf("taken in %v", ms(time.Duration(l.heap.Pause)))
	return l, nil
}

// spinWhile has the worker read its clock for as long as the work takes, and returns the longest time
// between two readings.
func (s *server) spinWhile(work func() error) (longest time.Duration, err error) {
	done := make(chan error, 1)
	go func() { done <- work() }()
	for {
		select {
		case err := <-done:
			return longest, err
		default:
		}
		body, err := s.get("/spin")
		if err != nil {
			return 0, errors.Join(err, <-done)
		}
		ns, err := strconv.ParseFloat(strings.TrimSpace(body), 64)
		if err != nil {
			return 0, errors.Join(err, <-done)
		}
		longest = max(longest, time.Duration(ns))
	}
}

// get asks for a path once.
func (s *server) get(path string) (string, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(s.folder, "s"))
	}}}
	answer, err := client.Get("http://probe" + path)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		log, _ := os.ReadFile(filepath.Join(s.folder, "error.log"))
		err = fmt.Errorf("%s: status %d: %s", path, answer.StatusCode, log)
	}
	return string(body), err
}
