package runtime

import (
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// A LoadJob is what the engine of load is told to do: see lua/moonlap/load. As in [Job], the keys on the
// Lua side are the names in snake_case, and fields with their zero value are left out.
type LoadJob struct {
	Sides       []LoadSide
	Threads     int
	Connections int // of each side, over all threads
	DurationNS  float64
	Requests    int64
	Rate        float64
	Arrivals    string
	Stages      []record.LoadStage
	SliceNS     float64
	WarmupNS    float64
	TimeoutNS   float64
	Seed        float64
	Pipeline    int
	Protocol    string
	NoKeepalive bool  `lua:"keepalive,not"`
	MemoryBytes int64 // most private memory of a thread; 0: no limit
	// Waits has the engine begin at [LoadEngine.Begin], slices begin PitchNS apart, and Part is which of several
	// machines that load together this is, as a share of their number.
	Waits         bool
	PitchNS, Part float64
}

// A LoadSide is one of the endpoints that a job loads.
type LoadSide struct {
	Name, URL string
	Addresses []string // "127.0.0.1:80", "[::1]:80"
	Unix      string   // path of a socket, instead
	Headers   [][2]string
	Method    string
	Body      string
	BodyFile  string
	Script    string
	Args      []string // of the script
	PIDs      []int    `lua:"pids"` // the server's processes, whose CPU time is read
	TLS       LoadTLS
}

// LoadTLS says how to speak TLS.
type LoadTLS struct {
	Insecure      bool
	SNI           string
	CA, Cert, Key string
	NoResume      bool `lua:"resume,not"`
}

// Lua returns the job as Lua source.
func (j LoadJob) Lua() string {
	kind := "kind = " + quoteLua(record.KindLoad)
	return "return {" + strings.Join(append([]string{kind}, luaFields(reflect.ValueOf(j))...), ", ") + "}"
}

// A LoadSpec is an engine of load to start.
type LoadSpec struct {
	Runtime        record.Runtime // LuaJIT
	Job            LoadJob
	Stdout, Stderr io.Writer // the script's own
	// CPUs are those that the engine may run on; none: all that we may.
	CPUs []int
}

// A LoadEngine is a running engine.
type LoadEngine struct {
	// Lines are the lines of the engine, a Fault where it failed, and its Exit. The channel is closed behind that.
	Lines chan record.Line

	c           *child
	folder      string
	started     time.Time
	begin       *os.File // nil: it waits for nothing
	interrupt   sync.Once
	interrupted chan struct{}
}

// Interrupt asks the engine to write what it has and end. One that does not is killed.
func (e *LoadEngine) Interrupt() { e.interrupt.Do(func() { close(e.interrupted) }) }

// Begin has an engine that waits begin.
func (e *LoadEngine) Begin() {
	if e.begin != nil {
		e.begin.Write([]byte{'\n'})
	}
}

// loadGrace is how long the engine may take to write its last slices.
const loadGrace = 3 * time.Second

// StartLoad starts the engine. When ctx ends it is interrupted, and killed where it does not end soon. The caller must
// read Lines to the end.
func StartLoad(ctx context.Context, spec LoadSpec) (*LoadEngine, error) {
	folder, err := newFolder()
	if err != nil {
		return nil, fmt.Errorf("no folder for temporary files: %w", err)
	}
	p := &Process{folder: folder}
	fail := func(err error) (*LoadEngine, error) {
		os.RemoveAll(folder)
		return nil, err
	}
	library, err := library(folder)
	if err != nil {
		return fail(fmt.Errorf("no place for the Lua library: %w", err))
	}
	job, err := p.variable(spec.Job.Lua())
	if err != nil {
		return fail(err)
	}
	e := &LoadEngine{Lines: make(chan record.Line), folder: folder, interrupted: make(chan struct{})}
	var stdin io.Reader
	if spec.Job.Waits {
		read, write, err := os.Pipe()
		if err != nil {
			return fail(err)
		}
		defer read.Close()
		stdin, e.begin = read, write
	}
	e.c, err = startChild(childSpec{
		path:  spec.Runtime.Path,
		name:  luajitName,
		args:  []string{"-e", `require("moonlap.load").main()`},
		stdin: stdin,
		env: environ(append(uvShim(),
			"LUA_PATH="+luaPath(library)+";"+withDefault(os.Getenv("LUA_PATH")),
			"LUA_INIT=",
			"MOONLAP_JOB="+job,
		)...),
		channels:       1,
		stdout:         spec.Stdout,
		parentDeath:    syscall.SIGKILL,
		outliveOutputs: grace,
		cpus:           spec.CPUs,
	})
	if err != nil {
		e.begin.Close()
		return fail(fmt.Errorf("start %s: %w", spec.Runtime.Path, err))
	}
	e.started = time.Now()
	go e.follow(ctx, spec.Stderr)
	return e, nil
}

// follow hands on what the engine says, and works out what became of it.
func (e *LoadEngine) follow(ctx context.Context, stderr io.Writer) {
	defer close(e.Lines)
	kept := &capture{}
	var outputs, channel sync.WaitGroup
	outputs.Go(func() { io.Copy(io.MultiWriter(kept, stderr), e.c.stderr) })
	done, hung := false, false
	channel.Go(func() {
		readChannel(untilDrained(e.c.channels[0]), record.In{}, func(l record.Line) {
			switch l := l.(type) {
			case record.LoadDone:
				done = true
			case record.LoadScript:
				done = true
				hung = hung || l.Kind == "hang" && l.Thread < 0 // setup() and done() run in the engine's own process
			}
			e.Lines <- l
		})
	})
	var state *os.ProcessState
	cancelled, interrupted, kill := ctx.Done(), e.interrupted, (<-chan time.Time)(nil)
	end := func() {
		if kill == nil {
			e.c.term(false)
			kill = time.After(loadGrace)
		}
	}
	for state == nil {
		select {
		case state = <-e.c.exited:
		case <-cancelled:
			cancelled = nil
			end()
		case <-interrupted:
			interrupted = nil
			end()
		case <-kill:
			e.c.kill()
		}
	}
	e.c.hurry(200 * time.Millisecond)
	outputs.Wait()
	channel.Wait()
	e.c.closePipes()
	e.begin.Close() // does nothing to one that is nil
	os.RemoveAll(e.folder)
	exit := record.Exit{
		Status: state.ExitCode(), ElapsedNS: float64(time.Since(e.started)),
		CPUNS: float64(state.UserTime() + state.SystemTime()), Stderr: kept.output(),
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal = shortSignal(status.Signal())
	}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		exit.MaxRSS = usage.Maxrss * 1024
	}
	if fault := loadFault(exit, done); fault != nil && kill == nil && !hung {
		e.Lines <- *fault
	}
	e.Lines <- exit
}

// loadFault is why an engine did not end as it should; nil: it did.
func loadFault(exit record.Exit, done bool) *record.Fault {
	said := ""
	if exit.Stderr != nil {
		said = ": " + strings.TrimSpace(exit.Stderr.Head)
	}
	switch {
	case exit.Signal != "":
		return &record.Fault{Case: -1, Kind: record.FaultCrash, Text: "the load engine was killed by " + exit.Signal + said}
	case exit.Status != 0:
		return &record.Fault{Case: -1, Kind: record.FaultExit, Text: fmt.Sprintf("the load engine ended with status %d%s", exit.Status, said)}
	case !done:
		return &record.Fault{Case: -1, Kind: record.FaultExit, Text: "the load engine ended before it had finished" + said}
	}
	return nil
}
