// Package capture waits for what rarely happens to an nginx worker, and keeps the seconds around it.
package capture

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/ui"
)

// What a condition is about.
type What string

// What conditions are about.
const (
	Turn    What = "turn"    // of the event loop, each timed by the kernel
	Held    What = "held"    // the loop by a run of Lua, as samples find
	Sleep   What = "sleep"   // the worker is put to, by anything but its wait for events
	Request What = "request" // in flight, since it began
	CPU     What = "cpu"     // share of a processor that the worker's main thread uses
	GC      What = "gc"      // share of a processor that Lua's collector uses in it
	Heap    What = "heap"    // of Lua
	Growth  What = "growth"  // of that heap
	Ended   What = "ended"   // the worker, not by itself with status 0
)

// A unit is what a condition's amount is written in.
type unit string

const (
	duration unit = "a duration"
	size     unit = "a size"
	share    unit = "a percentage"
)

// A subject is what may be asked of one thing.
type subject struct {
	unit        unit
	least, most float64       // ns, bytes, shares; the amount is above the first and at most the second
	during      time.Duration // that a share is of, unless it is said; 0: it is of no time
	example     string
	bounds      string // in words
}

var subjects = map[What]subject{
	Turn:    {duration, float64(time.Millisecond), math.Inf(1), 0, "turn>100ms", "at least 1ms"},
	Held:    {duration, float64(20 * time.Millisecond), math.Inf(1), 0, "held>100ms", "at least 20ms, because samples show it to 10ms; turn is exact"},
	Sleep:   {duration, float64(time.Millisecond), math.Inf(1), 0, "sleep>50ms", "at least 1ms"},
	Request: {duration, float64(100 * time.Millisecond), math.Inf(1), 0, "request>2s", "at least 100ms"},
	CPU:     {share, 0.001, 0.999, 5 * time.Second, "cpu>95% for 5s", "from 0.1% to 99.9%: one thread uses no more than one processor"},
	GC:      {share, 0.001, 0.999, 2 * time.Second, "gc>30% for 2s", "from 0.1% to 99.9%: one thread uses no more than one processor"},
	Heap:    {size, 1 << 10, 1 << 50, 0, "heap>200MB", "at least 1KiB"},
	Growth:  {share, 0.01, 1000, 0, "growth>150%", "at least 1%"},
	Ended:   {example: "ended"},
}

// order is that in which they are reported.
var order = []What{Turn, Held, Sleep, Request, CPU, GC, Heap, Growth, Ended}

// A Condition is what a capture waits for.
type Condition struct {
	What  What
	Above float64       // ns, bytes, or a share of 1
	For   time.Duration // of a share of time: over how long
}

// Examples are one condition of each kind, as Parse takes them.
func Examples() []string {
	all := make([]string, len(order))
	for i, w := range order {
		all[i] = subjects[w].example
	}
	return all
}

// Parse reads a condition: NAME>AMOUNT, NAME>AMOUNT for DURATION, or a name alone. Its errors name the remedy.
func Parse(text string) (Condition, error) {
	name, amount, compared := strings.Cut(text, ">")
	c := Condition{What: What(strings.TrimSpace(name))}
	s, ok := subjects[c.What]
	if !ok {
		if name, _, other := strings.Cut(text, "<"); other && subjects[What(strings.TrimSpace(name))].unit != "" {
			return c, fmt.Errorf("%q: conditions are about what is above, as %s", text, subjects[What(strings.TrimSpace(name))].example)
		}
		return c, fmt.Errorf("%q: no such condition; there are %s", text, strings.Join(Examples(), ", "))
	}
	amount, during, timed := strings.Cut(amount, " for ")
	amount = strings.TrimSpace(amount)
	switch {
	case s.unit == "" && (compared || timed):
		return c, fmt.Errorf("%q: %s stands alone", text, c.What)
	case s.unit == "":
		return c, nil
	case !compared || amount == "":
		return c, fmt.Errorf("%q: above what? As '%s', in quotes, or the shell takes the > for itself", text, s.example)
	case timed && s.during == 0:
		return c, fmt.Errorf("%q: of no time; only cpu and gc are, as %s", text, subjects[CPU].example)
	}
	var err error
	if c.Above, err = s.unit.parse(amount); err != nil {
		return c, fmt.Errorf("%q: %q is not %s, as in %s", text, amount, s.unit, s.example)
	}
	if !(c.Above >= s.least && c.Above <= s.most) {
		return c, fmt.Errorf("%q: %s must be %s", text, c.What, s.bounds)
	}
	c.For = s.during
	if timed {
		const shortest, longest = time.Second, time.Hour
		if c.For, err = time.ParseDuration(strings.TrimSpace(during)); err != nil || c.For < shortest || c.For > longest {
			return c, fmt.Errorf("%q: for a duration from 1s to 1h, as in %s", text, s.example)
		}
	}
	return c, nil
}

// String is the condition as Parse takes it.
func (c Condition) String() string {
	s := subjects[c.What]
	if s.unit == "" {
		return string(c.What)
	}
	text := string(c.What) + ">" + s.unit.format(c.Above)
	if c.For > 0 {
		text += " for " + c.For.String()
	}
	return text
}

func (u unit) parse(text string) (float64, error) {
	switch u {
	case duration:
		d, err := time.ParseDuration(text)
		return float64(d), err
	case share:
		digits, ok := strings.CutSuffix(text, "%")
		x, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if !ok || err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return 0, strconv.ErrSyntax
		}
		return math.Round(x*1e8) / 1e10, nil // as written: 99.9/100 is not 0.999
	}
	n, err := ui.ParseSize(text)
	return float64(n), err
}

// format is what parse takes, in the largest unit without a fraction.
func (u unit) format(x float64) string {
	switch u {
	case duration:
		return time.Duration(x).String()
	case share:
		return strconv.FormatFloat(math.Round(x*1e10)/1e8, 'f', -1, 64) + "%"
	}
	return ui.FormatSize(int64(x))
}
