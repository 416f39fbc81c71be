package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/load"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/ui"
)

// loadLive shows on stderr what the server does right now.
type loadLive struct {
	line *progress
	last time.Time
	time func(ns float64) string
}

func newLoadLive(sys Sys) *loadLive {
	return &loadLive{line: newProgress(sys), time: ui.NewPage(ui.Options{}).Time}
}

// liveEvery is how often the figures of the line are computed: they cost CPU time that the client may need.
const liveEvery = 250 * time.Millisecond

func (l *loadLive) update(p load.Progress) {
	every := liveEvery
	if !l.line.terminal {
		every = repeatEvery
	}
	if time.Since(l.last) < every {
		return
	}
	l.last = time.Now()
	var parts []string
	sides := p.Sides()
	for _, s := range sides {
		if s.Rate == 0 && s.Errors == 0 {
			continue
		}
		text := fmt.Sprintf("%s/s p50 %s p99 %s max %s", ui.Count(int64(s.Rate)), l.time(s.P50), l.time(s.P99), l.time(s.Max))
		if len(sides) > 1 {
			text = fmt.Sprintf("%s %s/s p99 %s", cut(s.Name, 16), ui.Count(int64(s.Rate)), l.time(s.P99))
		}
		if s.Errors > 0 {
			text += fmt.Sprintf(" %d errors", s.Errors)
		}
		parts = append(parts, text)
	}
	for _, c := range p.Comparisons {
		if c.Metric != "" && c.Ratio.Estimate > 0 && c.Verdict != record.Undecided {
			parts = append(parts, fmt.Sprintf("%s: %s", report.MetricName(c.Metric), c.Verdict))
		}
	}
	if len(parts) == 0 {
		parts = []string{"connecting"}
	}
	l.line.Update(strings.Join(parts, " · "), p.Elapsed, p.Left)
}

func (l *loadLive) clear() { l.line.Clear() }
