package bench

import (
	"context"
	"math/rand/v2"
	goruntime "runtime"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/stat/quiet"
)

// limits are how many processes a case gets, and how they run.
type limits struct {
	least int // before its precision is judged
	few   int // although its time is spent
	most  int
	again bool // seeds of levels that nothing but time sets apart are measured again
	// alone: one of our threads works at a time. With more, threads of ours that look for work take a CPU from the
	// command: 1 ms of a command of 15 ms, on two busy cores.
	alone bool
}

var (
	// ofCases see a mode that one process in six settles on with 95 %.
	ofCases    = limits{least: 17, most: 200, again: true}
	ofCommands = limits{least: 10, few: 2, most: 2000, alone: true}
)

const (
	measureTime  = 200 * time.Millisecond // of a process
	leastMeasure = 50 * time.Millisecond
	warmupLimit  = time.Second
)

// A Side is what to measure, where and for how long; where there are others to compare it
// with, also what it is called.
type Side struct {
	Name   string // "" where it is the only one
	Commit string // revision that it was checked out at
	Options
}

// A Measurement says what to measure and whether to compare it.
type Measurement struct {
	// Sides; the seed is that of the first, the budget the largest.
	Sides []Side
	// Comparing is the rule by which the cases of each side are compared with those of the
	// first, or, of a single side, every case with the first that does not fail. nil:
	// nothing is compared.
	Comparing *record.Comparing
	// Profile makes a profiler for one more process of each case, which runs after the measured
	// ones and is no sample; nil: there are no profiles.
	Profile func(name string) Profiler
	// Note is called with what will not be compared, and what has no profile.
	Note func(string)
}

// A Progress tells how far a run is.
type Progress struct {
	Case    string        // what runs now
	Round   int           // from 1
	Cases   int           // still running
	Elapsed time.Duration // of the measuring
	Left    time.Duration // at most
}

// Run measures. Cases that are compared take turns: in each round their processes stand
// side by side, in an order that is random in one round and reversed in the next, and
// share the round's seed, so that neither the state of the machine nor the draw favours
// one. They end when their comparisons are decided (see [stat.Turns]); a case that is
// compared with nothing, when its interval is narrow enough; each at its budget at the
// latest.
//
// Every line of the record goes to write as it comes, the first of them opening, with
// seed, budget and rule filled in. The record is returned whole, also when ctx ends before
// the run does: its End line then says "interrupted". The error is a [*PlanError], one of
// write's, or of a runtime that cannot be started; what was measured before stands in the
// record.
func Run(ctx context.Context, m Measurement, opening record.Run, write func(record.Line) error,
	progress func(Progress)) (*record.Record, error) {
	first := &m.Sides[0]
	r := &run{
		Measurement: m, write: write, progress: progress, started: time.Now(),
		random: rand.New(rand.NewPCG(first.Seed, 0)), record: &record.Record{}, count: first.Processes, limits: ofCases,
		yardsticks: quiet.Tracker{Before: opening.Yardsticks},
	}
	if first.Runtime.Kind == record.KindCommand {
		r.limits = ofCommands
	}
	if r.limits.alone {
		defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	}
	for _, side := range m.Sides {
		r.budget = max(r.budget, side.Time)
	}
	opening.Seed, opening.BudgetNS, opening.Comparing = first.Seed, float64(r.budget), m.Comparing
	err := r.whole(ctx, opening)
	return r.record, err
}

type run struct {
	Measurement
	budget   time.Duration // of a case
	count    int           // of processes a case; 0: as the budget allows
	write    func(record.Line) error
	progress func(Progress)
	started  time.Time
	random   *rand.Rand
	record   *record.Record
	groups   []*group
	limits   limits
	figures  []figure
	process  int // number of the next process

	yardsticks quiet.Tracker
}

// state is how far a case has come.
type state struct {
	planned
	options   *Options
	located   []map[int]float64 // by figure, by round: ns per call
	slowed    map[int]bool      // by round: its process had no quiet moment
	quiet     map[int]float64   // by round: the first of them, of processes that had quiet moments
	processes int
	spent     time.Duration
	failed    bool
	done      bool

	twin  *state        // empty; nil: nothing is taken off
	users []*state      // of a twin: the cases that it is taken off
	said  []record.Line // of a case with a twin, and of a twin: in this round
}

func (r *run) whole(ctx context.Context, opening record.Run) error {
	if err := r.add(opening); err != nil {
		return err
	}
	if runtime := r.Sides[0].Runtime; runtime.Path != "" {
		if err := r.add(runtime); err != nil {
			return err
		}
	}
	if err := r.plan(ctx); err != nil {
		return err
	}
	err := r.rounds(ctx)
	if err == nil && ctx.Err() == nil {
		err = r.again(ctx)
	}
	if err == nil && ctx.Err() == nil && r.Profile != nil {
		err = r.profiles(ctx)
	}
	reason := "complete"
	if ctx.Err() != nil {
		reason = "interrupted"
	}
	if endErr := r.add(record.End{Reason: reason, ElapsedNS: float64(time.Since(r.started))}); err == nil {
		err = endErr
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

func (r *run) add(l record.Line) error {
	if err := r.record.Add(l); err != nil {
		return err
	}
	return r.write(l)
}

// measure runs one process of a case, or of a twin, and files what it says.
func (r *run) measure(ctx context.Context, s *state, round int, seed float64) error {
	job := s.options.job(runtime.ModeMeasure)
	job.Process, job.Case, job.Index = r.process, s.Case.Case, s.Index
	job.Name, job.Round, job.Workers = s.nameInVM, round, s.Workers
	job.Seed, job.Untimed = seed, r.warming(round)
	job.MeasureNS = float64(r.measureTime())
	job.WarmupNS = float64(warmupLimit)
	if len(s.users) == 0 {
		r.process++
	}

	begun := time.Now()
	p, err := runtime.Start(ctx, s.options.spec(job))
	if err != nil {
		return err
	}
	err = r.file(s, p)
	if !job.Untimed {
		s.processes++
		r.charge(s, time.Since(begun))
	}
	if s.twin == nil && len(s.users) == 0 {
		r.locate(s, job.Process, round)
	}
	return err
}

// file adds the lines of a process to the record, or keeps them for [run.join].
func (r *run) file(s *state, p *runtime.Process) (failure error) {
	add := func(line record.Line) {
		if s.twin != nil || len(s.users) > 0 {
			s.said = append(s.said, line)
		} else if err := r.add(line); err != nil && failure == nil {
			failure = err // the process is still read to its end
		}
	}
	var crash *record.Fault // which the process's Exit line explains
	for line := range p.Lines() {
		switch l := line.(type) {
		case record.Fault:
			l.Case, s.failed = s.Case.Case, true
			if l.File == "" {
				l.Source = record.Source{File: s.File, Line: s.Line} // where the case is declared
			}
			if l.Kind == record.FaultCrash {
				crash = &l
				continue
			}
			line = l
		case record.Exit:
			if p.Err() != nil {
				continue // it did not begin
			}
			if crash != nil {
				add(explainCrash(*crash, l, s.options.MemoryBytes))
			}
		}
		add(line)
	}
	if failure == nil {
		failure = p.Err()
	}
	return failure
}

// charge takes time off a case's budget; a twin's is shared by those that it runs for.
func (r *run) charge(s *state, took time.Duration) {
	s.spent += took
	for _, user := range s.users {
		user.spent += took / time.Duration(len(s.users))
	}
}

// processSeed is the draw of the next round: what its processes' math.random and their JIT
// begin with, where the VM lets them be set.
func (r *run) processSeed() float64 {
	if seed := r.Sides[0].ProcessSeed; seed != nil {
		return float64(*seed)
	}
	return float64(r.random.Uint64N(1 << 53))
}

// measureTime is how long a process measures: short, so that the budget is spent on
// many processes.
func (r *run) measureTime() time.Duration {
	return min(measureTime, max(r.budget/time.Duration(2*r.limits.least), leastMeasure))
}
