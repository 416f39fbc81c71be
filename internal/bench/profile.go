package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// A Profiler samples the processes of a case while they run, from outside.
type Profiler interface {
	// Begin samples a process from now on.
	Begin(pid int)
	// End ends all sampling. The line is without its case; nothing was sampled where there is an error.
	End() (record.Profile, error)
}

// profileTime is how long a process runs that is profiled. What it measures is thrown away, so it
// may be sampled often.
const profileTime = 2 * time.Second

// profiles runs one process more of each case, under a profiler. A case that cannot be profiled is
// noted, and has no profile.
func (r *run) profiles(ctx context.Context) error {
	for _, s := range r.states() {
		if ctx.Err() != nil {
			return nil
		}
		if s.failed {
			continue
		}
		r.progress(Progress{Case: "profile of " + s.Name, Elapsed: time.Since(r.started)})
		line, err := r.profile(ctx, s)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if r.Note != nil {
				r.Note(fmt.Sprintf("%s has no profile: %v", s.Name, err))
			}
			continue
		}
		line.Case = s.Case.Case
		if err := r.add(line); err != nil {
			return err
		}
	}
	return nil
}

// profile runs the process of one case.
func (r *run) profile(ctx context.Context, s *state) (record.Profile, error) {
	job := s.options.job(runtime.ModeMeasure)
	job.Process, job.Case, job.Index = r.process, s.Case.Case, s.Index
	job.Name, job.Workers = s.nameInVM, s.Workers
	job.Seed = r.processSeed()
	job.MeasureNS = float64(min(profileTime, s.options.Timeout/4))
	job.WarmupNS = float64(min(warmupLimit, s.options.Timeout/4))
	job.Laps = false
	r.process++
	p, err := runtime.Start(ctx, s.options.spec(job))
	if err != nil {
		return record.Profile{}, err
	}
	profiler := r.Profile(s.Name)
	var fault error
	for line := range p.Lines() {
		switch l := line.(type) {
		case record.Process:
			profiler.Begin(l.PID)
		case record.Fault:
			fault = fmt.Errorf("its process failed: %s", l.Text)
		}
	}
	line, err := profiler.End()
	if fault != nil {
		err = fault
	}
	return line, err
}
