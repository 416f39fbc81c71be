package capture

import (
	"fmt"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/sample"
)

// longest is what came nearest to the conditions that are there without --when.
type longest struct {
	Slept, Held time.Duration
}

// see takes in the new samples of a worker.
func (l *longest) see(t *sample.Tail) {
	for _, s := range t.Samples[len(t.Samples)-t.New:] {
		if s.Thread {
			continue
		}
		if s.Sleep != nil {
			l.Slept = max(l.Slept, s.Sleep.For)
		}
		l.Held = max(l.Held, heldFor(s, s.Until()))
	}
}

// Merge joins what was seen at another worker.
func (l *longest) Merge(other longest) {
	l.Slept, l.Held = max(l.Slept, other.Slept), max(l.Held, other.Held)
}

// Text says what there was when nothing met a condition, and which conditions would have been met.
func (l longest) Text() string {
	var seen, when []string
	add := func(what string, long time.Duration, of What) {
		if below := roundBelow(long); float64(below) >= subjects[of].least {
			seen = append(seen, what+" "+round(long).String())
			when = append(when, fmt.Sprintf("--when '%s>%s'", of, below))
		}
	}
	add("the longest sleep took", l.Slept, Sleep)
	add("Lua held the event loop for up to", l.Held, Held)
	if len(seen) == 0 {
		return "nothing met a condition, or came near one"
	}
	return "nothing met a condition: " + strings.Join(seen, "; ") + ". " + strings.Join(when, " ") + " would have captured it"
}

// round leaves three digits of a time.
func round(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

// roundBelow is the largest of 1, 2, 5, 10, 20, … ms below a time; 0: there is none.
func roundBelow(d time.Duration) time.Duration {
	below := time.Duration(0)
	for step := time.Millisecond; step < d; step *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if n*step < d {
				below = n * step
			}
		}
	}
	return below
}
