package exec

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/lap"
)

// Measure runs a command or a twin once. What keeps it from starting, and a preparation that fails,
// are errors; a command that fails is a fault.
func (c *Commands) Measure(ctx context.Context, spec runtime.Spec, send func(record.Line)) (record.Exit, error) {
	job, i := spec.Job, c.items[spec.Job.Index]
	exit := record.Exit{Process: job.Process, Status: -1}
	if err := c.prepared(ctx); err != nil {
		return exit, err
	}
	var timings timings
	timings.take(c.yardsticks)
	ran, err := c.start(ctx, i, job)
	if err != nil {
		return exit, err
	}
	timings.take(c.yardsticks)
	in := record.In{Process: job.Process}
	send(record.Process{
		In: in, Case: job.Case, Round: job.Round, PID: ran.PID, Seed: job.Seed,
		VM: record.VM{Opt: []string{}}, Clock: runtime.Clock(),
	})
	batch := func(kind string, ns float64, switches ...int) {
		send(record.Batches{In: in, Kind: kind, Calls: []int{1}, NS: []float64{ns}, Switches: switches})
	}
	fault := failure(ran, c.options)
	switch {
	case fault != nil:
		fault.In, fault.Case = in, job.Case
		if i.twin {
			fault.Stage, fault.Text = "its empty twin", i.name+": "+fault.Text
		}
		send(*fault)
	case job.Untimed:
		batch(record.Warmup, ran.WallNS)
	default:
		send(record.Batches{In: in, Kind: record.Measure, Calls: []int{1}, NS: []float64{ran.WallNS}, Yardsticks: timings})
		batch(record.Spawn, ran.SpawnNS)
		batch(record.User, ran.UserNS, ran.Involuntary)
		batch(record.System, ran.SystemNS, ran.Voluntary)
	}
	if fault == nil {
		send(record.Finish{In: in, Stop: "enough", ElapsedNS: ran.WallNS})
	}
	return record.Exit{
		Process: job.Process, Status: ran.Status, Signal: ran.Signal, ElapsedNS: ran.WallNS,
		CPUNS: ran.UserNS + ran.SystemNS, MaxRSS: ran.MaxRSS, Stdout: ran.Stdout, Stderr: ran.Stderr,
	}, nil
}

// timings are those of the yardsticks in ns, by kind: one before a run and one after it.
type timings map[string][]float64

// timingsAtOnce yardsticks are timed at either end, of which the middle one counts: 10 µs, whatever else the kernel does at
// that moment.
const timingsAtOnce = 3

func (t *timings) take(y *lap.Yardsticks) {
	if y == nil {
		return
	}
	if *t == nil {
		*t = timings{}
	}
	var core, cache [timingsAtOnce]float64
	for i := range timingsAtOnce {
		one := y.Time()
		core[i], cache[i] = one.Core, one.Cache
	}
	for kind, times := range map[string][]float64{"core": core[:], "cache": cache[:]} {
		slices.Sort(times)
		(*t)[kind] = append((*t)[kind], times[timingsAtOnce/2])
	}
}

// start runs an item once.
func (c *Commands) start(ctx context.Context, i *item, job runtime.Job) (runtime.Ran, error) {
	cmd := runtime.Command{
		Path: i.path, Args: i.args, Timeout: c.options.Timeout,
		Watch: !i.twin && job.Untimed && job.Round == 0,
		Env:   []string{job.Pad()},
	}
	if c.options.Input != "" {
		// Each run has the file from its beginning, and an offset of its own.
		f, err := os.Open(c.options.Input)
		if err != nil {
			return runtime.Ran{}, fmt.Errorf("--input: %w", err)
		}
		defer f.Close()
		cmd.Stdin = f
	}
	switch c.options.Output {
	case Discard:
		cmd.Stdout = c.devNull
	case Show:
		if !i.twin {
			cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		}
	}
	return runtime.Run(ctx, cmd)
}

// prepared runs what has to be done before each run.
func (c *Commands) prepared(ctx context.Context) error {
	if c.prepare == "" {
		return nil
	}
	ran, err := runtime.Run(ctx, runtime.Command{Path: c.prepare, Args: c.options.Prepare, Timeout: c.options.Timeout})
	if err != nil {
		return err
	}
	if fault := failure(ran, Options{Timeout: c.options.Timeout}); fault != nil {
		return fmt.Errorf("--prepare %s: %s", Join(c.options.Prepare), fault.Text)
	}
	return nil
}

// faultStatus is a command that ended with a status other than 0.
const faultStatus = "status"

// failure is why a run does not count; nil when it does.
func failure(ran runtime.Ran, o Options) *record.Fault {
	switch {
	case ran.TimedOut:
		return &record.Fault{Kind: record.FaultTimeout, Text: fmt.Sprintf("it did not end within %s%s", o.Timeout, printed(ran))}
	case o.IgnoreFailure:
		return nil
	case ran.Signal != "":
		return &record.Fault{Kind: record.FaultCrash, Text: "killed by " + ran.Signal + printed(ran)}
	case ran.Status != 0:
		return &record.Fault{Kind: faultStatus, Text: fmt.Sprintf("it exited with status %d%s; --ignore-failure times it all the same", ran.Status, printed(ran))}
	}
	return nil
}

// printed is the beginning of what it said.
func printed(ran runtime.Ran) string {
	out := ran.Stderr
	if out == nil {
		out = ran.Stdout
	}
	if out == nil || strings.TrimSpace(out.Head) == "" {
		return ""
	}
	const most = 300
	text := strings.Join(strings.Fields(out.Head), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return ", saying: " + text
}
