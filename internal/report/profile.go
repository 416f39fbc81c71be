package report

import (
	"fmt"
	"io"
	"time"

	"github.com/moonlap/moonlap/internal/explain"
)

// A Profile is the summary of a profile of nginx workers.
type Profile struct {
	PIDs        []int
	Which       string // on-cpu, off-cpu or wall
	File        string // where the profile was written; "": nowhere
	Duration    time.Duration
	Hz          float64       // looks a second at each worker that were asked for
	Looks       int           // at all workers, of all moments, those that failed included
	Looked      time.Duration // how long all workers together were looked at
	Paused      time.Duration // how long of that they stood still, at most
	Used        time.Duration // CPU time of all workers
	Explanation explain.Explanation
}

// Write draws the summary. Its only error is that of w.
func (s Profile) Write(w io.Writer, opt Options) error {
	p := newPage(opt)
	e := s.Explanation
	who := fmt.Sprintf("worker %d", s.PIDs[0])
	if len(s.PIDs) > 1 {
		who = fmt.Sprintf("%d workers", len(s.PIDs))
	}
	each := ""
	p.line(p.strong.Render("moonlap profile") + p.faint.Render(p.dot+who+p.dot+s.Which))
	rate := float64(s.Looks) / s.Looked.Seconds()
	if len(s.PIDs) > 1 {
		each = " at each worker"
	}
	p.fact("looks", p.join(
		fmt.Sprintf("%s in %s", count(s.Looks), p.time(float64(s.Duration))),
		fmt.Sprintf("%.0f a second%s, of %.0f wanted", rate, each, s.Hz),
		fmt.Sprintf("%s are %s", count(e.Samples), s.Which), p.lost(e)))
	p.fact("cost", fmt.Sprintf("each look stopped a worker for at most %s: %s of its time", p.time(float64(e.PauseNS)), percent(s.Paused.Seconds()/s.Looked.Seconds())))
	p.fact("CPU", percent(s.Used.Seconds()/s.Duration.Seconds())+" of one processor")
	if e.Samples == 0 {
		p.fact("result", "nothing: no look found a worker "+s.Which)
	}
	if s.File != "" {
		p.fact("file", clean(s.File))
	}
	p.allShares(e)
	return p.writeTo(w)
}
