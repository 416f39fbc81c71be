// Package bench is the plan of a run: which cases there are, in which order fresh
// processes measure them, and when it is enough.
//
// One process measures one case once. A LuaJIT process is a single sample, however
// many calls it times, because the JIT rolls dice when it chooses its traces; so the
// plan is rounds of fresh processes, every case once a round, in random order.
package bench

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// Options say what to measure, where, and for how long.
type Options struct {
	File  string   // bench file, or:
	Code  []string // one benchmark each
	Setup string   // code before Code, untimed

	Runtime            record.Runtime
	Program            runtime.Program // runs in place of Lua code
	HTTPConf, MainConf []string
	Phase              string
	Workers            []int // nginx workers; each number makes a variant of every case

	Filter      *regexp.Regexp // on names and tags; nil is all
	GC          string
	Laps        bool
	LapCount    int // laps a process; 0: by time
	Concurrency int
	Rate        float64
	Clock       string
	JIT         string
	MemoryBytes int64

	Processes int           // exactly N a case; 0: until Precision or Time
	Warmup    int           // untimed rounds before, of whole commands
	Precision float64       // half of the interval's width, relative
	Time      time.Duration // budget a case
	WaitQuiet time.Duration // more of it, while too few processes had quiet moments
	Timeout   time.Duration // a process
	Seed      uint64
	// ProcessSeed replays one draw: every process gets this seed.
	ProcessSeed *uint64
	Keep        bool

	Dir string // working folder of the processes; "" is our own
	// Slowdown makes every batch this share longer, by spinning: for proving a gate.
	Slowdown float64
}

// A planned case is a line of the record and what the VM calls it.
type planned struct {
	record.Case
	nameInVM string
}

// job is the part of a job that all processes of the run share.
func (o *Options) job(mode string) runtime.Job {
	return runtime.Job{
		Mode: mode, File: o.File, Code: o.Code, Setup: o.Setup,
		GC: o.GC, Laps: o.Laps, LapCount: o.LapCount,
		Concurrency: o.Concurrency, Rate: o.Rate, Phase: o.Phase,
		Clock: o.Clock, JIT: o.JIT, MemoryBytes: o.MemoryBytes,
		TimeoutNS: float64(o.Timeout), Slowdown: o.Slowdown,
	}
}

func (o *Options) spec(job runtime.Job) runtime.Spec {
	return runtime.Spec{
		Job: job, Runtime: o.Runtime, Program: o.Program, Timeout: o.Timeout,
		HTTPConf: o.HTTPConf, MainConf: o.MainConf, Keep: o.Keep, Dir: o.Dir,
	}
}

// A PlanError is why a bench file yields no plan.
type PlanError struct {
	Fault record.Fault
	Exit  *record.Exit // what the process left behind, where it ended
	Side  string       // of a comparison
}

func (e *PlanError) Error() string {
	place := e.Fault.File
	if place != "" && e.Fault.Line > 0 {
		place = fmt.Sprintf("%s:%d", place, e.Fault.Line)
	}
	if place != "" {
		place += ": "
	}
	if e.Side != "" && e.Side != e.Fault.File {
		place = e.Side + ": " + place
	}
	return place + e.Fault.Said()
}

// Plan lists the cases of the bench file, by loading it in a process of the runtime.
// The error is a [*PlanError] when the code's at fault.
func Plan(ctx context.Context, o Options) ([]record.Case, error) {
	cases, err := o.plan(ctx)
	lines := make([]record.Case, len(cases))
	for i, c := range cases {
		lines[i] = c.Case
	}
	return lines, err
}

func (o *Options) plan(ctx context.Context) ([]planned, error) {
	declared, err := o.declared(ctx)
	if err != nil {
		return nil, err
	}
	if len(declared) == 0 {
		if o.Program != nil {
			return nil, fmt.Errorf("%s: every benchmark is skipped", o.File)
		}
		return nil, &PlanError{Fault: record.Fault{
			Case: -1, Kind: record.FaultError, Stage: "load", Source: record.Source{File: o.File},
			Text: `declares no benchmark; one is moonlap.bench("name", function() … end)`,
		}}
	}
	var cases []planned
	for _, c := range declared {
		if o.Filter != nil && !o.matches(c) {
			continue
		}
		for _, workers := range o.Workers {
			cases = append(cases, o.variant(c, workers, len(cases)))
		}
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("no case matches --filter %s; 'moonlap bench --list' shows them", o.Filter)
	}
	return cases, nil
}

func (o *Options) matches(c record.Case) bool {
	return o.Filter.MatchString(c.Name) || slices.ContainsFunc(c.Tags, o.Filter.MatchString)
}

// variant makes a case of the plan from one that the VM declared.
func (o *Options) variant(c record.Case, workers, number int) planned {
	p := planned{Case: c, nameInVM: c.Name}
	p.Case.Case = number
	p.Runtime = o.Runtime.Kind
	p.GC = o.GC
	p.Laps = o.Laps
	if p.Runtime == runtime.Nginx {
		p.Phase = o.Phase
		p.Workers = workers
	}
	if o.Concurrency > 0 {
		p.Concurrency = o.Concurrency
	}
	if o.Rate > 0 {
		p.Rate = o.Rate
	}
	if len(o.Workers) > 1 {
		p.Name = fmt.Sprintf("%s/workers=%d", c.Name, workers)
	}
	return p
}

// declared starts the listing process and collects its cases.
func (o *Options) declared(ctx context.Context) ([]record.Case, error) {
	p, err := runtime.Start(ctx, o.spec(o.job(runtime.ModeList)))
	if err != nil {
		return nil, err
	}
	var cases []record.Case
	var fault *record.Fault
	var exit *record.Exit
	for line := range p.Lines() {
		switch l := line.(type) {
		case record.Case:
			cases = append(cases, l)
		case record.Fault:
			fault = cmp.Or(fault, &l) // later ones follow from the first
		case record.Exit:
			exit = &l
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if fault != nil {
		fault.Case = -1
		return nil, &PlanError{Fault: *fault, Exit: exit}
	}
	return cases, nil
}
