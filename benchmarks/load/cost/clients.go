package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/benchmarks/load/target"
)

// A client does a work and tells its CPU time a request, in ns.
type client struct {
	name string
	run  func(s *target.Server, w work, seconds int) (float64, error)
}

var clients = []client{{"wrk", runWrk}, {"moonlap", runMoonlap}}

var wrkTotal = regexp.MustCompile(`(\d+) requests in`)

func runWrk(s *target.Server, w work, seconds int) (float64, error) {
	args := []string{"wrk", "-t1", fmt.Sprint("-c", w.Connections), fmt.Sprintf("-d%ds", seconds)}
	if w.Script != "" {
		path, err := s.Script(w.Script)
		if err != nil {
			return 0, err
		}
		args = append(args, "-s", path)
	}
	cmd := target.Pinned(append(args, s.URL(w.Scheme))...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, err
	}
	found := wrkTotal.FindStringSubmatch(out.String())
	if found == nil {
		return 0, fmt.Errorf("no total in what it printed:\n%s", out.String())
	}
	n, err := strconv.ParseFloat(found[1], 64)
	return perRequest(cmd, n, err)
}

func runMoonlap(s *target.Server, w work, seconds int) (float64, error) {
	side := "tls={insecure=true}"
	if w.Script != "" {
		path, err := s.Script(w.Script)
		if err != nil {
			return 0, err
		}
		side += fmt.Sprintf(", script=%q", path)
	}
	sum := 0.0
	cmd, err := s.Engine(w.Scheme, side, fmt.Sprintf("connections=%d, duration_ns=%de9, timeout_ns=60e9", w.Connections, seconds), // wrk, too, waits for late answers
		func(line target.Slice) error {
			sum += line.Responses
			return nil
		})
	return perRequest(cmd, sum, err)
}

// perRequest divides the CPU time of a process and of the children that it waited for.
func perRequest(cmd *exec.Cmd, n float64, err error) (float64, error) {
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: no request", strings.Join(cmd.Args, " "))
	}
	if err != nil {
		return 0, err
	}
	return float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()) / n, nil
}
