package bench

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/stat"
)

const (
	// leastProcesses see a mode that one process in six settles on with 95 %.
	leastProcesses = 17
	mostProcesses  = 200

	measureTime  = 200 * time.Millisecond // of a process
	leastMeasure = 50 * time.Millisecond
	warmupLimit  = time.Second
)

// A Progress tells how far a run is.
type Progress struct {
	Case    string        // what runs now
	Round   int           // from 1
	Cases   int           // still running
	Elapsed time.Duration // of the measuring
	Left    time.Duration // at most
}

// Run measures. Every line of the record goes to write as it comes, and the record is
// returned whole, also when ctx ends before the run does: its End line then says
// "interrupted". The error is a [*PlanError], one of write's, or of a runtime that
// cannot be started; what was measured before stands in the record.
func Run(ctx context.Context, o Options, opening record.Run, write func(record.Line) error,
	progress func(Progress)) (*record.Record, error) {
	r := &run{
		options: o, write: write, progress: progress, started: time.Now(),
		random: rand.New(rand.NewPCG(o.Seed, 0)), record: &record.Record{},
	}
	err := r.whole(ctx, opening)
	return r.record, err
}

type run struct {
	options  Options
	write    func(record.Line) error
	progress func(Progress)
	started  time.Time
	random   *rand.Rand
	record   *record.Record
	states   []*state
	process  int // number of the next process
}

// state is how far a case has come.
type state struct {
	planned
	options   *Options
	locations []float64 // ns per call of its processes
	processes int
	spent     time.Duration
	done      bool
}

func (r *run) whole(ctx context.Context, opening record.Run) error {
	if err := r.add(opening); err != nil {
		return err
	}
	if err := r.add(r.options.Runtime); err != nil {
		return err
	}
	cases, err := r.options.plan(ctx)
	if err != nil {
		return err
	}
	for _, c := range cases {
		r.states = append(r.states, &state{planned: c, options: &r.options})
		if err := r.add(c.Case); err != nil {
			return err
		}
	}
	return r.end(ctx, r.rounds(ctx))
}

// end closes the record; err is what ended the rounds.
func (r *run) end(ctx context.Context, err error) error {
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

func (r *run) rounds(ctx context.Context) error {
	for round := 0; ; round++ {
		var active []*state
		for _, s := range r.states {
			if !s.done {
				active = append(active, s)
			}
		}
		if len(active) == 0 {
			return nil
		}
		r.random.Shuffle(len(active), func(i, j int) { active[i], active[j] = active[j], active[i] })
		for _, s := range active {
			if ctx.Err() != nil {
				return nil
			}
			r.tell(s, round, active)
			if err := r.measure(ctx, s, round, r.processSeed()); err != nil {
				return err
			}
			s.done = s.done || r.enough(s)
		}
	}
}

// measure runs one process of a case and files what it says.
func (r *run) measure(ctx context.Context, s *state, round int, seed float64) error {
	job := s.options.job(runtime.ModeMeasure)
	job.Process, job.Case, job.Index = r.process, s.Case.Case, s.Index
	job.Name, job.Round, job.Workers = s.nameInVM, round, s.Workers
	job.Seed = seed
	job.MeasureNS = float64(r.measureTime())
	job.WarmupNS = float64(warmupLimit)
	r.process++
	s.processes++

	begun := time.Now()
	p, err := runtime.Start(ctx, s.options.spec(job))
	if err != nil {
		return err
	}
	var failure error
	add := func(line record.Line) {
		if err := r.add(line); err != nil && failure == nil {
			failure = err // the process is still read to its end
		}
	}
	var crash *record.Fault // which the process's Exit line explains
	for line := range p.Lines() {
		switch l := line.(type) {
		case record.Fault:
			l.Case, s.done = s.Case.Case, true
			if l.File == "" {
				l.Source = record.Source{File: s.File, Line: s.Line} // where the case is declared
			}
			if l.Kind == record.FaultCrash {
				crash = &l
				continue
			}
			line = l
		case record.Exit:
			if crash != nil {
				add(explainCrash(*crash, l, r.options.MemoryBytes))
			}
		}
		add(line)
	}
	s.spent += time.Since(begun)
	if ns, ok := r.location(s, job.Process); ok {
		s.locations = append(s.locations, ns)
	}
	return failure
}

// location is what a process found, the mean of its workers.
func (r *run) location(s *state, process int) (ns float64, ok bool) {
	var sum, count float64
	for _, p := range r.record.Of(s.Case.Case) {
		if p.Process.Process != process || p.Finish == nil {
			continue
		}
		if ns, ok := stat.Location(p); ok {
			sum, count = sum+ns, count+1
		}
	}
	return sum / count, count > 0
}

// processSeed is the draw of the next process: what its math.random and its JIT begin
// with, where the VM lets them be set.
func (r *run) processSeed() float64 {
	if r.options.ProcessSeed != nil {
		return float64(*r.options.ProcessSeed)
	}
	return float64(r.random.Uint64N(1 << 53))
}

// measureTime is how long a process measures: short, so that the budget is spent on
// many processes.
func (r *run) measureTime() time.Duration {
	return min(measureTime, max(r.options.Time/(2*leastProcesses), leastMeasure))
}

// enough tells whether a case needs no more processes.
func (r *run) enough(s *state) bool {
	o := r.options
	if o.Processes > 0 {
		return s.processes >= o.Processes
	}
	if s.spent >= o.Time || s.processes >= mostProcesses {
		return true
	}
	return s.processes >= leastProcesses && stat.Precision(s.locations) <= o.Precision
}

// tell reports progress: the time left is what the cases may still spend, at most.
func (r *run) tell(current *state, round int, active []*state) {
	var left time.Duration
	for _, s := range active {
		switch o := r.options; {
		case s.done:
		case o.Processes > 0 && s.processes > 0:
			left += s.spent / time.Duration(s.processes) * time.Duration(o.Processes-s.processes)
		case o.Processes == 0:
			left += max(o.Time-s.spent, 0)
		}
	}
	r.progress(Progress{
		Case: current.Name, Round: round + 1, Cases: len(active),
		Elapsed: time.Since(r.started), Left: left,
	})
}
