// Package runtime finds, configures, starts and supervises the programs that run the
// user's code, LuaJIT, nginx and Go's test binaries, and hands back what they say as
// record lines.
//
// It judges nothing and prints nothing. Whatever the code does (crash, hang, exit,
// print a gigabyte, fork), [Process.Lines] ends with an Exit line, after a Fault line
// where the code did not finish, and nothing of the process stays behind.
package runtime

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// A Spec is one process to start.
type Spec struct {
	Job     Job
	Runtime record.Runtime // from Find
	// Timeout bounds the whole process, from start to end; 0 is no bound.
	Timeout time.Duration

	Program Program // runs in place of the job's Lua code, from outside

	// HTTPConf and MainConf are the user's nginx directives for the http block and
	// the top level: each a piece of configuration, or @FILE, which is included.
	HTTPConf, MainConf []string

	// Dir is the program's working folder, and what @FILE is relative to; "" is our own.
	Dir string

	// Stdin, Stdout and Stderr are the code's own, where it is to have them. Without
	// them stdin is empty, and the Exit line tells what went to stdout and stderr.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Keep leaves the private folder behind, for looking into a fault.
	Keep bool
}

// grace is how long a process may take to end by itself when asked to.
const grace = 500 * time.Millisecond

// Start starts a process. The error is for what the caller did wrong or the machine
// lacks; whatever goes wrong with the program itself comes as a Fault line. When ctx
// ends, so does the process, without a Fault. The caller must read Lines to the end.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	if spec.Job.Workers < 1 {
		spec.Job.Workers = 1
	}
	p := &Process{spec: spec, lines: make(chan record.Line), started: time.Now()}
	if spec.Program != nil {
		return p, p.startProgram(ctx)
	}
	var err error
	if p.folder, err = newFolder(); err != nil {
		return nil, fmt.Errorf("no folder for temporary files: %w", err)
	}
	if err := p.start(ctx); err != nil {
		p.removeFolder()
		return nil, err
	}
	return p, nil
}

func (p *Process) start(ctx context.Context) error {
	library, err := library(p.folder)
	if err != nil {
		return fmt.Errorf("no place for the Lua library: %w", err)
	}
	job, err := p.jobVariable()
	if err != nil {
		return err
	}
	switch p.spec.Runtime.Kind {
	case LuaJIT:
		if p.spec.Job.Workers > 1 {
			return fmt.Errorf("%d workers: only nginx has workers", p.spec.Job.Workers)
		}
		return p.startLuaJIT(ctx, library, job)
	case Nginx:
		return p.startNginx(ctx, library, job)
	}
	return fmt.Errorf("no such runtime: %q", p.spec.Runtime.Kind)
}

// maxVariable is the most that execve(2) takes for one environment variable, less a
// page for the name.
const maxVariable = 128<<10 - 4<<10

// jobVariable is what MOONLAP_JOB is set to: the job, or where it is.
func (p *Process) jobVariable() (string, error) { return p.variable(p.spec.Job.Lua()) }

func (p *Process) variable(job string) (string, error) {
	if len(job) < maxVariable {
		return job, nil
	}
	file := filepath.Join(p.folder, "job.lua")
	if err := os.WriteFile(file, []byte(job), 0o600); err != nil {
		return "", err
	}
	return "return dofile(" + quoteLua(file) + ")", nil
}

// A Process is one started program.
type Process struct {
	spec    Spec
	folder  string
	conf    *nginxConf // nil for LuaJIT
	lines   chan record.Line
	started time.Time
	err     error
}

// Lines are the lines of the process: those it wrote, then a Fault where it did not
// finish, then its Exit. The channel is closed after that, when the process, its
// children and its folder are gone.
func (p *Process) Lines() <-chan record.Line { return p.lines }

// Err is why nothing more can be measured: a program that is not there any more, or what was to
// prepare it has failed. It is nil until Lines has ended.
func (p *Process) Err() error { return p.err }

func (p *Process) removeFolder() {
	if !p.spec.Keep {
		os.RemoveAll(p.folder)
	}
}

func signalName(s syscall.Signal) string {
	return fmt.Sprintf("%s (signal %d)", shortSignal(s), int(s))
}
