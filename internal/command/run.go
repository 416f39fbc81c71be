package command

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/stat"
)

const (
	leastRuns = 10 // before the precision is looked at
	mostRuns  = 2000
	fewRounds = 2 // the budget does not end a run before
)

// A Progress tells how far a run is.
type Progress struct {
	Command string
	Round   int // from 1; 0 while warming up
	Elapsed time.Duration
	Left    time.Duration // at most
}

// Run measures. Commands that are compared end when their comparisons are decided, another
// when its interval is narrow enough, all of them at the budget at the latest. Every line
// of the record goes to write, and the record is returned whole, also when ctx ends before
// the run does. The error is ctx's, one of write's, or of a program that is not there or
// cannot be started.
func Run(ctx context.Context, o Options, opening record.Run, write func(record.Line) error,
	progress func(Progress)) (*record.Record, error) {
	// With more, threads of ours that look for work take a CPU from the command: 1 ms of a
	// command of 15 ms, on two busy cores.
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	r := &run{
		options: o, write: write, progress: progress, record: &record.Record{},
		random: rand.New(rand.NewPCG(o.Seed, 0)), started: time.Now(), readCost: readCost(),
	}
	err := r.whole(ctx, opening)
	return r.record, err
}

type run struct {
	options  Options
	write    func(record.Line) error
	progress func(Progress)
	record   *record.Record
	random   *rand.Rand
	started  time.Time
	measured time.Time // when the warm-up was over
	items    []*item
	prepare  string // path
	devNull  *os.File
	process  int
	round    int
	readCost float64 // of our clock, ns
	turns    *turns
}

// An item is a command, or a twin, which several commands may share.
type item struct {
	args  []string
	path  string
	twin  *item // nil: nothing is taken off, or this is a twin
	users []*item

	number    int // of the case; -1 for a twin
	name      string
	guessed   bool
	failed    bool
	done      bool
	ran       *runtime.Ran // in this round
	locations []float64
}

func (r *run) whole(ctx context.Context, opening record.Run) error {
	if err := r.open(); err != nil {
		return err
	}
	defer r.devNull.Close()
	opening.Comparing = r.options.Comparing
	lines := []record.Line{opening}
	for _, i := range r.items {
		if i.number < 0 {
			continue
		}
		c := record.Case{Case: i.number, Name: i.name, Benchmark: i.name, Index: i.number, Runtime: Runtime, GC: "natural"}
		if i.twin != nil {
			c.Params = map[string]any{record.EmptyParam: Join(i.twin.args)}
		}
		lines = append(lines, c)
	}
	if err := r.add(lines...); err != nil {
		return err
	}
	r.turns = newTurns(r.options.Comparing, r.record.Cases)
	err := r.rounds(ctx)
	reason := "complete"
	if ctx.Err() != nil {
		reason = "interrupted"
	}
	if endErr := r.add(record.End{Reason: reason, ElapsedNS: float64(time.Since(r.started))}); err == nil {
		err = endErr
	}
	return err
}

func (r *run) add(lines ...record.Line) error {
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

// open finds all programs and files before anything runs.
func (r *run) open() (err error) {
	if r.devNull, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return err
	}
	if r.options.Input != "" {
		f, err := os.Open(r.options.Input)
		if err != nil {
			return fmt.Errorf("--input: %w", err)
		}
		f.Close()
	}
	if len(r.options.Prepare) > 0 {
		if r.prepare, err = find(r.options.Prepare, r.options.Path); err != nil {
			return fmt.Errorf("--prepare: %w", err)
		}
	}
	shared := map[string]*item{}
	for number, c := range r.options.Commands {
		i := &item{args: c.Args, number: number, name: c.Name}
		if i.path, err = find(c.Args, r.options.Path); err != nil {
			return err
		}
		r.items = append(r.items, i)
		if len(c.Empty) == 0 {
			continue
		}
		key := strings.Join(c.Empty, "\x00")
		if shared[key] == nil {
			t := &item{args: c.Empty, number: -1, name: "the empty twin " + Join(c.Empty), guessed: c.Guessed}
			if t.path, err = find(c.Empty, r.options.Path); err != nil {
				return fmt.Errorf("--empty: %w", err)
			}
			if err := r.try(t); err != nil {
				return err
			}
			shared[key] = t
			r.items = append(r.items, t)
		}
		if t := shared[key]; !t.done {
			i.twin, t.users = t, append(t.users, i)
		}
	}
	return nil
}

// try runs a twin once: one that fails has nothing to say. A guess is dropped then.
func (r *run) try(t *item) error {
	ran, err := r.start(context.Background(), t)
	if err != nil {
		return err
	}
	why := failure(ran, r.options)
	if why == nil {
		return nil
	}
	if t.guessed {
		t.done = true
		return nil
	}
	return fmt.Errorf("%s: %s", t.name, why.Text)
}

// rounds run every command and twin once each, in random order, every second round in
// the reverse order of the one before: so each comes first as often as last.
func (r *run) rounds(ctx context.Context) error {
	var order []*item
	for r.round = 0; ; r.round++ {
		warming := r.round < r.options.Warmup
		if !warming && r.measured.IsZero() {
			r.measured = time.Now()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !warming && r.enough(r.round-r.options.Warmup) {
			return nil
		}
		if r.round%2 == 0 || order == nil {
			order = slices.Clone(r.items)
			r.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		} else {
			slices.Reverse(order)
		}
		if err := r.oneRound(ctx, order, warming); err != nil {
			return err
		}
	}
}

func (r *run) oneRound(ctx context.Context, order []*item, warming bool) error {
	for _, i := range r.items {
		i.ran = nil
	}
	for _, i := range order {
		if i.idle() {
			continue
		}
		r.tell(i)
		if fault, err := r.prepared(ctx); err != nil {
			return err
		} else if fault != nil {
			return fmt.Errorf("--prepare %s: %s", Join(r.options.Prepare), fault.Text)
		}
		ran, err := r.start(ctx, i)
		if err != nil {
			return err
		}
		i.ran = &ran
	}
	var runs []*record.ProcessRecord
	for _, i := range r.items {
		if i.number < 0 || i.ran == nil {
			continue
		}
		if err := r.add(r.lines(i, warming)...); err != nil {
			return err
		}
		runs = append(runs, r.record.Processes[len(r.record.Processes)-1])
	}
	r.turns.look(r.round, runs)
	for _, i := range r.items {
		if i.number >= 0 {
			open, compared := r.turns.open(i.number)
			i.done = i.failed || compared && !open
		}
	}
	return nil
}

// idle tells whether an item has no more to do.
func (i *item) idle() bool {
	if i.number >= 0 {
		return i.done
	}
	return !slices.ContainsFunc(i.users, func(u *item) bool { return !u.done })
}

// lines are what a run of a command leaves in the record.
func (r *run) lines(i *item, warming bool) []record.Line {
	in := record.In{Process: r.process}
	r.process++
	ran := i.ran
	lines := []record.Line{record.Process{
		In: in, Case: i.number, Round: r.round, PID: ran.PID, Seed: float64(r.random.Uint64N(1 << 53)),
		VM:    record.VM{Opt: []string{}},
		Clock: record.Clock{Source: "monotonic", StepNS: 1, CostNS: r.readCost, Compiled: true},
	}}
	batch := func(kind string, ns float64, switches ...int) {
		lines = append(lines, record.Batches{In: in, Kind: kind, Calls: []int{1}, NS: []float64{ns}, Switches: switches})
	}
	fault := failure(*ran, r.options)
	if fault == nil && i.twin != nil && i.twin.ran != nil {
		if fault = failure(*i.twin.ran, r.options); fault != nil {
			fault.Stage, fault.Text = "its empty twin", i.twin.name+": "+fault.Text
		}
	}
	switch {
	case fault != nil:
		fault.In, fault.Case = in, i.number
		lines = append(lines, *fault)
		i.failed = true
	case warming:
		batch(record.Warmup, ran.WallNS)
		lines = append(lines, record.Finish{In: in, Stop: "enough", ElapsedNS: ran.WallNS})
	default:
		batch(record.Measure, ran.WallNS)
		batch(record.Spawn, ran.SpawnNS)
		batch(record.User, ran.UserNS, ran.Involuntary)
		batch(record.System, ran.SystemNS, ran.Voluntary)
		net := ran.WallNS
		if i.twin != nil && i.twin.ran != nil {
			batch(record.Empty, i.twin.ran.WallNS)
			batch(record.EmptyUser, i.twin.ran.UserNS)
			batch(record.EmptySystem, i.twin.ran.SystemNS)
			net -= i.twin.ran.WallNS
		}
		i.locations = append(i.locations, net)
		lines = append(lines, record.Finish{In: in, Stop: "enough", ElapsedNS: ran.WallNS})
	}
	return append(lines, record.Exit{
		Process: in.Process, Status: ran.Status, Signal: ran.Signal, ElapsedNS: ran.WallNS,
		CPUNS: ran.UserNS + ran.SystemNS, MaxRSS: ran.MaxRSS, Stdout: ran.Stdout, Stderr: ran.Stderr,
	})
}

// enough tells whether no more rounds are needed.
func (r *run) enough(rounds int) bool {
	o := r.options
	active := slices.DeleteFunc(slices.Clone(r.items), func(i *item) bool { return i.number < 0 || i.done })
	switch {
	case len(active) == 0:
		return true
	case o.Runs > 0:
		return rounds >= o.Runs
	case rounds >= mostRuns:
		return true
	case rounds >= fewRounds && time.Since(r.measured) >= o.Time*time.Duration(len(r.options.Commands)):
		return true
	case rounds < leastRuns || rounds%2 == 1: // whole pairs of rounds are balanced
		return false
	case rounds > 50 && rounds%10 > 0:
		return false
	}
	return !slices.ContainsFunc(active, func(i *item) bool {
		_, compared := r.turns.open(i.number)
		return compared || stat.Precision(i.locations) > o.Precision
	})
}

func (r *run) tell(i *item) {
	p := Progress{Command: i.name, Elapsed: time.Since(r.started)}
	if !r.measured.IsZero() {
		spent := time.Since(r.measured)
		done := r.round - r.options.Warmup
		p.Round = done + 1
		if o := r.options; o.Runs == 0 {
			p.Left = max(0, o.Time*time.Duration(len(o.Commands))-spent)
		} else if done > 0 {
			p.Left = spent / time.Duration(done) * time.Duration(o.Runs-done)
		}
	}
	r.progress(p)
}
