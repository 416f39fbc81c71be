package runtime

import (
	"context"

	"github.com/moonlap/moonlap/internal/record"
)

// A Program is what runs without our harness inside, and is measured from outside: Go's test
// binaries, whole commands. Each kind of them has a package of its own.
type Program interface {
	// Cases are what there is to measure; [Job.Index] counts them, and the empty twins behind them.
	Cases() []record.Case
	// Twin is the index of a case's empty twin, whose time is taken off; false where nothing is.
	Twin(index int) (int, bool)
	// Refuse says why a job cannot be done; nil: it can.
	Refuse(Job) error
	// Measure runs a process of the case that the job names and hands on its lines. It returns
	// the last of them, and the error for which the whole run must end: see [Process.Err].
	Measure(ctx context.Context, spec Spec, send func(record.Line)) (record.Exit, error)
}

// startProgram is Start for a program.
func (p *Process) startProgram(ctx context.Context) error {
	program, job := p.spec.Program, p.spec.Job
	if err := program.Refuse(job); err != nil {
		return err
	}
	go func() {
		end := record.Exit{Process: job.Process}
		if job.Mode == ModeList {
			for _, c := range program.Cases() {
				p.lines <- c
			}
		} else {
			end, p.err = program.Measure(ctx, p.spec, func(line record.Line) { p.lines <- line })
		}
		p.lines <- end
		close(p.lines)
	}()
	return nil
}
