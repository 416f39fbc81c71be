package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// A client does a work and tells its CPU time a request, in ns.
type client struct {
	name string
	run  func(s *server, w work, seconds int) (float64, error)
}

var clients = []client{{"wrk", runWrk}, {"moonlap", runMoonlap}}

var wrkTotal = regexp.MustCompile(`(\d+) requests in`)

func runWrk(s *server, w work, seconds int) (float64, error) {
	args := []string{"wrk", "-t1", fmt.Sprint("-c", w.Connections), fmt.Sprintf("-d%ds", seconds)}
	if w.Script != "" {
		path, err := s.script(w.Script)
		if err != nil {
			return 0, err
		}
		args = append(args, "-s", path)
	}
	cmd := pinned(append(args, s.url(w.URL)))
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

func runMoonlap(s *server, w work, seconds int) (float64, error) {
	side := fmt.Sprintf("name='A', url=%q, addresses={%q}, tls={insecure=true}", s.url(w.URL), s.address(w.URL))
	if w.Script != "" {
		path, err := s.script(w.Script)
		if err != nil {
			return 0, err
		}
		side += fmt.Sprintf(", script=%q", path)
	}
	job := fmt.Sprintf("return {kind='load', sides={{%s}}, threads=1, connections=%d, duration_ns=%de9, slice_ns=1e9}",
		side, w.Connections, seconds)
	lines, err := os.CreateTemp(s.folder, "lines")
	if err != nil {
		return 0, err
	}
	defer os.Remove(lines.Name())
	defer lines.Close()
	cmd := pinned([]string{"luajit", "-e", `require("moonlap.load").main()`})
	library, err := filepath.Abs("../../lua")
	if err != nil {
		return 0, err
	}
	cmd.Env = append(os.Environ(), "MOONLAP_JOB="+job, fmt.Sprintf("LUA_PATH=%s/?.lua;%s/?/init.lua", library, library))
	cmd.ExtraFiles = []*os.File{lines}
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, err
	}
	n, err := responses(lines.Name())
	return perRequest(cmd, n, err)
}

// responses adds up what the slices count; an error other than a status is one of the run.
func responses(path string) (sum float64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var line struct {
			Type      string
			Responses float64
			Errors    map[string]float64
		}
		if err := json.Unmarshal(scan.Bytes(), &line); err != nil {
			return 0, err
		}
		if line.Type == "load_slice" {
			sum += line.Responses
		}
		if len(line.Errors) > 0 {
			return 0, fmt.Errorf("errors: %v", line.Errors)
		}
	}
	return sum, scan.Err()
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

// pinned keeps a client on the last processor, where there is more than one.
func pinned(args []string) *exec.Cmd {
	if runtime.NumCPU() > 1 {
		args = append([]string{"taskset", "-c", strconv.Itoa(runtime.NumCPU() - 1)}, args...)
	}
	return exec.Command(args[0], args[1:]...)
}
