package figure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/moonlap/moonlap/internal/record"
)

const partial = 3 // exit status

// A Run is one invocation of moonlap bench.
type Run struct {
	Results record.Results
	Record  *record.Record
}

// Case returns the result of a case by name.
func (r *Run) Case(name string) record.CaseResult {
	for _, c := range r.Results.Cases {
		if c.Name == name {
			return c
		}
	}
	Must(fmt.Errorf("moonlap's results have no case %q", name))
	return record.CaseResult{}
}

// Processes returns what the processes of a case wrote.
func (r *Run) Processes(name string) []*record.ProcessRecord {
	return r.Record.Of(r.Case(name).Case.Case)
}

// Bench runs `moonlap bench` with the arguments. The program is $MOONLAP, else the one
// that `make build` puts into bin; paths are relative to benchmarks/bench. A case
// without a figure is an error: a figure of ours must not rest on half a run.
func Bench(args ...string) *Run {
	program := os.Getenv("MOONLAP")
	if program == "" {
		program = "../../bin/moonlap"
	}
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		Must(fmt.Errorf("%s: run make build first, and this from benchmarks/bench", program))
	}
	folder, err := os.MkdirTemp("", "moonlap-figure-")
	Must(err)
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "record.jsonl")

	var stdout, stderr bytes.Buffer
	command := exec.Command(program, append([]string{"bench", "--format", "json", "--out", file}, args...)...)
	command.Stdout, command.Stderr = &stdout, &stderr
	err = command.Run()
	if err != nil && command.ProcessState.ExitCode() != partial {
		Must(fmt.Errorf("%s: %w\n%s", command, err, stderr.Bytes()))
	}
	run := &Run{}
	Must(json.Unmarshal(stdout.Bytes(), &run.Results))
	run.Record, err = record.ReadFile(file)
	Must(err)
	for _, c := range run.Results.Cases {
		for _, fault := range c.Faults {
			Must(fmt.Errorf("%s: %s: %s", command, c.Name, fault.Text))
		}
	}
	return run
}
