package lapplot

import (
	"math"
	"strconv"
	"strings"
)

// A span is the stretch of values that an axis shows.
type span struct{ low, high float64 }

var nothing = span{math.Inf(1), math.Inf(-1)}

func (s span) empty() bool { return s.low > s.high }

func (s span) with(x float64) span {
	if !finite(x) {
		return s
	}
	return span{math.Min(s.low, x), math.Max(s.high, x)}
}

// place is where x lies on an axis, 0 at its lower end and 1 at its upper; values beyond
// lie at the ends.
func (a Axis) place(s span, x float64) float64 {
	if a.Scale != Linear {
		x, s = math.Log(math.Max(x, s.low)), span{math.Log(s.low), math.Log(s.high)}
	}
	return math.Max(0, math.Min(1, (x-s.low)/(s.high-s.low)))
}

// narrow is what the horizontal axis shows of values from s.low to s.high: no more than
// them, unless they are equal. least is the smallest value above 0.
func (a Axis) narrow(s span, least float64) span {
	switch {
	case a.Scale == Tail:
		return span{1, math.Max(s.high, 2)}
	case len(a.Labels) > 0:
		return span{math.Min(s.low, -0.5), math.Max(s.high, float64(len(a.Labels))-0.5)}
	case a.Scale == Log && s.high > least:
		return span{math.Max(s.low, least), s.high}
	case a.Scale == Linear && s.high > s.low:
		return s
	}
	return a.widen(s, least)
}

// widen makes room at the ends of the vertical axis, also where all values are equal.
func (a Axis) widen(s span, least float64) span {
	if a.Scale != Linear {
		if math.IsInf(least, 1) {
			return span{1, 10} // nothing above 0
		}
		low, high := math.Max(s.low, least), math.Max(s.high, least)
		room := math.Min(math.Max(math.Pow(high, 0.04)/math.Pow(low, 0.04), 1.05), 1e4) // high/low may overflow
		return span{math.Max(low/room, math.SmallestNonzeroFloat64), high * room}
	}
	room := 0.04 * (s.high - s.low)
	if room <= 1e-11*math.Max(math.Abs(s.low), math.Abs(s.high)) { // all equal, or nearly
		room = math.Max(math.Abs(s.high)/20, 1e-300)
		if s.high == 0 {
			room = 0.5
		}
	}
	return span{s.low - room, s.high + room}
}

// A tick is a labelled place on an axis.
type tick struct {
	at   float64
	text string
}

// ticks are about most labelled places, at round values.
func (a Axis) ticks(s span, most int) []tick {
	switch {
	case len(a.Labels) > 0:
		return a.labelTicks(s, most)
	case a.Scale == Tail:
		return tailTicks(s, most)
	case a.Scale == Log && s.high/s.low >= 8:
		return a.logTicks(s, most)
	}
	return a.linearTicks(s, most)
}

func (a Axis) linearTicks(s span, most int) []tick {
	step := niceStep((s.high - s.low) / float64(max(1, most)))
	m := multipleFor(a.Unit, math.Max(math.Abs(s.low), math.Abs(s.high)))
	var ticks []tick
	for k := math.Ceil(s.low/step - 1e-9); k*step <= s.high+step*1e-9; k++ {
		ticks = append(ticks, tick{k * step, m.format(k*step, step)})
		if len(ticks) > 4*most {
			break
		}
	}
	return ticks
}

// niceStep is the least of 1, 2 and 5 times a power of ten that is at least so much.
func niceStep(least float64) float64 {
	if !(least > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if factor*power >= least*(1-1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

func (a Axis) logTicks(s span, most int) []tick {
	decades := math.Log10(s.high) - math.Log10(s.low)
	factors := []float64{1}
	switch {
	case 3*decades <= float64(most):
		factors = []float64{1, 2, 5}
	case 2*decades <= float64(most):
		factors = []float64{1, 3}
	}
	every := max(1, int(math.Ceil(decades/float64(max(1, most)))))
	var ticks []tick
	for e := int(math.Floor(math.Log10(s.low))); float64(e) <= math.Log10(s.high); e++ {
		if e%every != 0 {
			continue
		}
		for _, f := range factors {
			if x := f * math.Pow(10, float64(e)); x >= s.low && x <= s.high {
				ticks = append(ticks, tick{x, a.Unit.print(x, 1)})
			}
		}
	}
	return ticks
}

// tailTicks are percentiles: 1/(1-p) of 1, 2, 4, 10, 20, 100, …
func tailTicks(s span, most int) []tick {
	inner := math.Log10(s.high)*3 <= float64(most)
	every := max(1, int(math.Ceil(math.Log10(s.high/s.low)/float64(most))))
	var ticks []tick
	for nines, x := 0, 1.0; x <= s.high; nines, x = nines+1, x*10 {
		if nines%every == 0 {
			ticks = append(ticks, tick{x, percentLabel(nines, 0)})
		}
		if !inner {
			continue
		}
		if nines == 0 {
			for _, half := range []tick{{2, "50 %"}, {4, "75 %"}} {
				if half.at <= s.high {
					ticks = append(ticks, half)
				}
			}
		} else if 2*x <= s.high {
			ticks = append(ticks, tick{2 * x, percentLabel(nines, 5)})
		}
	}
	return ticks
}

// percentLabel is N nines as percent, and a digit after them: 0 % 90 % 99 % 99.9 %.
func percentLabel(nines, then int) string {
	if nines == 0 {
		return "0 %"
	}
	digits := strings.Repeat("9", nines)
	if then > 0 {
		digits += strconv.Itoa(then)
	}
	if len(digits) == 1 {
		digits += "0"
	}
	if len(digits) > 2 {
		digits = digits[:2] + "." + digits[2:]
	}
	return digits + " %"
}

// labelTicks leaves labels out evenly where there are too many.
func (a Axis) labelTicks(s span, most int) []tick {
	every := max(1, (len(a.Labels)+most-1)/max(1, most))
	var ticks []tick
	for i := 0; i < len(a.Labels); i += every {
		if at := float64(i); at >= s.low && at <= s.high {
			ticks = append(ticks, tick{at, shorten(a.Labels[i], 16)})
		}
	}
	return ticks
}

// shorten cuts a text to N characters.
func shorten(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return string(r[:most-1]) + "…"
}
