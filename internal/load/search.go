package load

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

const (
	firstRate  = 1000   // where nobody says how to begin
	mostSteps  = 24     // of a search
	fineEnough = 1.03   // ratio of the lowest rate that fails to the highest that does not
	growth     = 2.0    // while no rate fails
	leastRate  = 1.0    // a second
	mostRate   = 1000e6 //
)

// Search tries rates, each in an engine of its own, for the highest that keeps the plan's limits: it doubles the rate until one
// fails and halves the distance from then on. Each rate is a case of the record.
func Search(ctx context.Context, o Options, opening record.Run, write func(record.Line) error, progress func(Progress)) (*record.Record, error) {
	s := &search{recording: recording{&record.Record{}, write}, options: o, progress: progress, started: time.Now()}
	s.high = math.Inf(1)
	err := s.whole(ctx, opening)
	return s.record, err
}

type search struct {
	recording
	options   Options
	progress  func(Progress)
	started   time.Time
	low, high float64 // the highest rate that keeps the limits, and the lowest that does not
}

func (s *search) whole(ctx context.Context, opening record.Run) error {
	o := s.options
	opening.Seed, opening.BudgetNS = o.Seed, o.Plan.DurationNS
	rate := cmp.Or(o.Plan.Rate, firstRate)
	// The plan stands before the cases here: nobody knows yet how many there will be.
	plan := o.Plan
	plan.Rate, plan.URLs = 0, []string{o.Sides[0].URL}
	if err := s.add(opening, o.Runtime, plan); err != nil {
		return err
	}
	var err error
	for step := 0; step < mostSteps && rate >= leastRate && rate <= mostRate; step++ {
		var kept bool
		if kept, err = s.try(ctx, step, math.Round(rate)); err != nil {
			break
		}
		if kept {
			s.low = math.Round(rate)
		} else {
			s.high = math.Round(rate)
		}
		switch {
		case math.IsInf(s.high, 1):
			rate *= growth
		case s.low == 0:
			rate /= growth
		default:
			rate = math.Sqrt(s.low * s.high)
		}
		if s.low > 0 && s.high/s.low <= fineEnough {
			break
		}
	}
	reason := "complete"
	if ctx.Err() != nil {
		reason, err = "interrupted", ctx.Err()
	}
	if endErr := s.add(record.End{Reason: reason, ElapsedNS: float64(time.Since(s.started))}); err == nil {
		err = endErr
	}
	return err
}

// try puts load on the server at one rate, and reports whether it kept the limits.
func (s *search) try(ctx context.Context, step int, rate float64) (kept bool, err error) {
	o := s.options
	o.Plan.Rate, o.Plan.Searching = rate, false
	c := o.cases()[0]
	c.Case, c.Index, c.Name, c.Benchmark = step, step, fmt.Sprintf("%.0f/s", rate), c.Name
	if err := s.add(c); err != nil {
		return false, err
	}
	rec, err := Run(ctx, o, s.record.Run, func(l record.Line) error {
		switch l := l.(type) {
		case record.LoadSlice:
			l.Side = step
			return s.add(l)
		case record.LoadError:
			l.Side = step
			return s.add(l)
		case record.LoadThread, record.LoadScript, record.LoadDone, record.Fault:
			return s.add(l)
		}
		return nil // the record has one beginning and one end
	}, func(p Progress) {
		p.Left = 0
		p.Elapsed = time.Since(s.started)
		s.progress(p)
	})
	if err != nil {
		return false, err
	}
	res := Summarize(rec)
	for _, p := range res.Problems {
		if p.Code == record.LoadScriptError || p.Code == record.LoadEngineFailed || p.Code == record.LoadServerDied {
			return false, fmt.Errorf("%s", p.Text)
		}
	}
	return len(res.Sides) == 1 && keeps(res, res.Sides[0]), nil
}
