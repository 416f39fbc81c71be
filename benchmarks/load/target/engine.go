package target

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// A Slice is what this needs of a line of the engine.
type Slice struct {
	Type      string
	AtNS      float64 `json:"at_ns"` // its begin, since the first slice
	NS        float64
	Requests  float64
	Responses float64
	Latency   string // corrected, HdrHistogram V2
	Raw       string
	Kind      string // of an error
	Text      string
	Count     float64
}

// Engine runs the load engine on the server and hands its slices to see; an error that it counts is one of the run.
// Side and fields are Lua: of the side, and of the job. The command that has ended tells its CPU time.
func (s *Server) Engine(scheme, side, fields string, see func(Slice) error) (*exec.Cmd, error) {
	lines, err := os.CreateTemp(s.Folder, "lines")
	if err != nil {
		return nil, err
	}
	defer os.Remove(lines.Name())
	defer lines.Close()
	library, err := filepath.Abs("../../lua")
	if err != nil {
		return nil, err
	}
	cmd := Pinned("luajit", "-e", `require("moonlap.load").main()`)
	cmd.Env = append(os.Environ(), fmt.Sprintf("LUA_PATH=%s/?.lua;%s/?/init.lua", library, library),
		fmt.Sprintf("MOONLAP_JOB=return {kind='load', sides={{name='A', url=%q, addresses={%q}, %s}}, slice_ns=1e9, %s}",
			s.URL(scheme), s.Address(scheme), side, fields))
	cmd.ExtraFiles = []*os.File{lines}
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := s.run(cmd); err != nil {
		return nil, err
	}
	if _, err := lines.Seek(0, 0); err != nil {
		return nil, err
	}
	scan := bufio.NewScanner(lines)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var line Slice
		if err := json.Unmarshal(scan.Bytes(), &line); err != nil {
			return nil, err
		}
		if line.Type == "load_error" {
			return nil, fmt.Errorf("%s, %g times: %s", line.Kind, line.Count, line.Text)
		}
		if line.Type == "load_begin" {
			s.Began = time.Duration(line.AtNS)
		}
		if line.Type == "load_slice" {
			if err := see(line); err != nil {
				return nil, err
			}
		}
	}
	return cmd, scan.Err()
}

// run runs the engine, and calls Beside meanwhile.
func (s *Server) run(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(Often)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			if s.Beside != nil {
				s.Beside(cmd.Process.Pid)
			}
		}
	}
}

// Pinned keeps a client on the last processor, where there is more than one.
func Pinned(args ...string) *exec.Cmd {
	if runtime.NumCPU() > 1 {
		args = append([]string{"taskset", "-c", strconv.Itoa(runtime.NumCPU() - 1)}, args...)
	}
	return exec.Command(args[0], args[1:]...)
}

// LoadAverage of the machine, over a minute.
func LoadAverage() (one float64) {
	text, _ := os.ReadFile("/proc/loadavg")
	fmt.Sscan(string(text), &one)
	return one
}
