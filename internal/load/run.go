package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/host"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// Run measures. Every line of the record goes to write, and the record is returned whole, also when ctx ends
// before the run does. Sides that are compared end when all is decided. The error is ctx's, one of write's, or that
// the engine cannot be started; a server that fails is no error.
func Run(ctx context.Context, o Options, opening record.Run, write func(record.Line) error, progress func(Progress)) (*record.Record, error) {
	r := &run{recording: recording{&record.Record{}, write}, options: o, progress: progress, started: time.Now()}
	err := r.open(opening)
	if err == nil {
		err = r.follow(ctx)
	}
	return r.record, err
}

// A recording is a record that is kept whole, and written line by line.
type recording struct {
	record *record.Record
	write  func(record.Line) error
}

func (r recording) add(lines ...record.Line) error {
	for _, l := range lines {
		if err := r.record.Add(l); err != nil {
			return err
		}
		if err := r.write(l); err != nil {
			return err
		}
	}
	return nil
}

type run struct {
	recording
	options  Options
	progress func(Progress)
	started  time.Time
	begun    time.Time // the first slice
	live     *live
	judges   *judges
	machine  watcher
}

// StageServer is the stage of a fault of the server under test.
const StageServer = "server"

func (r *run) open(opening record.Run) error {
	o := &r.options
	opening.Comparing, opening.Seed, opening.BudgetNS = o.Comparing, o.Seed, o.Plan.DurationNS
	o.Plan.URLs, o.Plan.ServerPIDs = nil, nil
	known := false
	for _, s := range o.Sides {
		var pids []int
		if s.Find != nil {
			pids = s.Find()
		}
		known = known || len(pids) > 0
		o.Plan.URLs = append(o.Plan.URLs, s.URL)
		o.Plan.ServerPIDs = append(o.Plan.ServerPIDs, pids)
	}
	plan := o.Plan
	if !known {
		plan.ServerPIDs = nil
	}
	lines := []record.Line{opening, o.Runtime}
	for _, c := range o.cases() {
		lines = append(lines, c)
	}
	return r.add(append(lines, plan)...)
}

// checkServer is how often the run asks whether the server is still there, and draws its progress.
const checkServer = 100 * time.Millisecond

// follow runs the engine to its end, and closes the record.
func (r *run) follow(ctx context.Context) error {
	o := r.options
	engine, err := runtime.StartLoad(ctx, runtime.LoadSpec{
		Runtime: o.Runtime, Job: o.job(), Stdout: o.Stdout, Stderr: o.Stderr, CPUs: o.ClientCPUs,
	})
	if err != nil {
		return err
	}
	r.live, r.judges = newLive(o), newJudges(r.record)
	r.machine.sampler = host.Start()
	defer r.machine.sampler.Stop()
	var failed error
	ending := false
	end := func() { ending = true; engine.Interrupt() }
	begin, enough := o.Part.calls()
	ticks := time.NewTicker(checkServer)
	defer ticks.Stop()
	for lines := engine.Lines; lines != nil; {
		select {
		case l, ok := <-lines:
			switch {
			case !ok:
				lines = nil
			case failed != nil: // it is about to end
			default:
				_, threw := l.(record.LoadScript) // what follows would be of a script that does something else than it should
				if failed = r.hear(l); failed != nil || threw || o.Part == nil && r.judges.decided() {
					end()
				}
			}
		case <-begin:
			begin = nil
			engine.Begin()
		case <-enough:
			enough = nil
			end()
		case <-ticks.C:
			r.report()
			if why := r.died(); why != nil && !ending && ctx.Err() == nil {
				failed = r.add(record.Fault{Case: -1, Kind: record.FaultCrash, Stage: StageServer, Text: why.Error()})
				end()
			}
		}
	}
	reason := "complete"
	if ctx.Err() != nil {
		reason = "interrupted"
	}
	if failed == nil {
		failed = r.add(record.End{Reason: reason, ElapsedNS: float64(time.Since(r.started))})
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return failed
}

// died is why the server under test is gone.
func (r *run) died() error {
	if r.options.Died == nil {
		return nil
	}
	return r.options.Died()
}

func (r *run) hear(l record.Line) error {
	switch l := l.(type) {
	case record.LoadBegin:
		r.begun = time.Now()
		r.machine.begin(l.AtNS)
		if r.options.Began != nil {
			r.options.Began(l.AtNS)
		}
	case record.LoadSlice:
		if l.Side >= len(r.options.Sides) {
			return fmt.Errorf("the engine names side %d, and there are %d", l.Side, len(r.options.Sides))
		}
		if r.options.Heard != nil {
			r.options.Heard(l)
		}
		l.Yardsticks = r.machine.beside(l)
		r.live.add(l)
		r.judges.add(l)
		return r.add(l)
	case record.Fault:
		if l.Kind == record.FaultChannel {
			return errors.New(l.Text)
		}
	}
	return r.add(l)
}

func (r *run) report() {
	p := Progress{Elapsed: time.Since(r.started), Sides: r.live.sides, Comparisons: r.judges.now()}
	if !r.begun.IsZero() && r.options.Plan.Requests == 0 {
		whole := time.Duration(r.options.Plan.WarmupNS + r.options.Plan.DurationNS)
		p.Left = max(0, whole-time.Since(r.begun))
	}
	r.progress(p)
}
