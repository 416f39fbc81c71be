package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// A scale is one unit of a kind of quantity, and how much of the base it holds.
type scale struct {
	unit string
	per  float64
}

var (
	timeScales = []scale{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}
	sizeScales = []scale{{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}}
	rateScales = []scale{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}}
)

// pick is the largest unit of which x holds at least one, after rounding to three
// digits: 999.9 ns is shown as 1.00 µs.
func pick(scales []scale, x float64) scale {
	x = math.Abs(round3(x))
	best := scales[0]
	for _, s := range scales[1:] {
		if x >= s.per {
			best = s
		}
	}
	return best
}

func round3(x float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	if err != nil {
		return x
	}
	return r
}

// unitOf joins a figure and its unit.
func (g Glyphs) unitOf(figure string, s scale) string {
	unit := s.unit
	if unit == "µs" {
		unit = g.micro + "s"
	}
	return strings.TrimSpace(figure + " " + unit)
}

// Time shows ns with three digits: "6.31 ns", "140 ns", "1.20 ms".
func (g Glyphs) Time(ns float64) string { return g.scaled(ns, timeScales) }

func (g Glyphs) scaled(x float64, scales []scale) string {
	if !Finite(x) {
		return "?"
	}
	s := pick(scales, x)
	return g.unitOf(threeDigits(x/s.per), s)
}

// Time shows ns in a text that is kept; a page that is drawn in ASCII replaces its signs.
func Time(ns float64) string { return unicodeGlyphs.Time(ns) }

// threeDigits shows at most two decimals, so that nothing below 0.01 pretends to be
// known.
func threeDigits(x float64) string {
	decimals := 2
	switch a := math.Abs(round3(x)); {
	case a >= 100:
		decimals = 0
	case a >= 10:
		decimals = 1
	case a == 0:
		decimals = 0
	}
	return Fixed(x, decimals)
}

// Interval shows an estimate with as many digits as its interval bears: "140.2 ±
// 1.3 ns", where the longer arm counts for both. A wide interval that is not symmetric is
// shown by its ends: "31 (28–55) ns". One without width is not known rather than perfect:
// "140 ± ? ns".
func (g Glyphs) Interval(i record.Interval) string {
	if !Finite(i.Estimate) {
		return "?"
	}
	s := pick(timeScales, i.Estimate)
	arm := math.Max(i.High-i.Estimate, i.Estimate-i.Low) / s.per
	x := i.Estimate / s.per
	if !Finite(arm) || arm <= 0 {
		return g.unitOf(threeDigits(x)+" "+g.PlusMinus+" ?", s)
	}
	arm = math.Max(arm, 0.001) // what is not shown is not claimed
	d := DecimalsOf(arm)
	middle, low, high := Fixed(x, d), Fixed(i.Low/s.per, d), Fixed(i.High/s.per, d)
	if lopsided(i) && (low != middle || high != middle) {
		return g.unitOf(middle+" ("+g.Range(low, high)+")", s)
	}
	return g.unitOf(middle+" "+g.PlusMinus+" "+Fixed(arm, d), s)
}

// lopsided reports whether ± would mislead: one arm is more than twice the other, and the longer is
// more than a twentieth of the estimate.
func lopsided(i record.Interval) bool {
	up, down := i.High-i.Estimate, i.Estimate-i.Low
	return max(up, down) > 2*min(up, down) && max(up, down) > math.Abs(i.Estimate)/20
}

// Range joins the ends of an interval: "28–55", "-4 to 14".
func (g Glyphs) Range(low, high string) string {
	if strings.HasPrefix(low, "-") || strings.HasPrefix(high, "-") {
		return low + " to " + high
	}
	return low + g.Dash + high
}

// TimeRange shows the ends of an interval alone: "616–624 ns".
func (g Glyphs) TimeRange(i record.Interval) string {
	if !Finite(i.Low) || !Finite(i.High) {
		return "?"
	}
	s := pick(timeScales, math.Max(math.Abs(i.Low), math.Abs(i.High)))
	d := DecimalsOf(math.Max((i.High-i.Low)/2/s.per, 0.001))
	return g.unitOf(g.Range(Fixed(i.Low/s.per, d), Fixed(i.High/s.per, d)), s)
}

// ShareRange is a share of 0…1 with the ends of its interval: "62 % (58–65)".
func (g Glyphs) ShareRange(i record.Interval) string {
	bare := func(share float64) string { return strings.TrimSuffix(Percent(share), " %") }
	if bare(i.Low) == bare(i.High) {
		return Percent(i.Estimate)
	}
	return Percent(i.Estimate) + " (" + g.Range(bare(i.Low), bare(i.High)) + ")"
}

// DecimalsOf is how many decimals an uncertainty bears: two digits of it when it
// begins with 1, else one, the usual rule of measurement (GUM 7.2.6); three decimals
// at most.
func DecimalsOf(arm float64) int {
	exp := math.Floor(math.Log10(arm))
	digits := 1.0
	if arm/math.Pow(10, exp) < 2 {
		digits = 2
	}
	return int(math.Min(3, math.Max(0, digits-1-exp)))
}

// Size shows bytes: "0 B", "31.9 B", "1.50 kB".
func (g Glyphs) Size(bytes float64) string {
	if s, whole := pick(sizeScales, bytes), math.Round(bytes); s.per == 1 && math.Abs(bytes-whole) < 0.05 {
		return g.unitOf(Fixed(whole, 0), s)
	}
	return g.scaled(bytes, sizeScales)
}

// Rate shows a number a second: "7.13 M", "950".
func (g Glyphs) Rate(perSecond float64) string { return g.scaled(perSecond, rateScales) }

// Percent shows a share of 0…1: "83 %", "0.4 %".
func Percent(share float64) string {
	p := 100 * share
	if a := math.Abs(p); a > 0 && a < 9.95 && math.Abs(p-math.Round(p)) >= 0.05 {
		return Fixed(p, 1) + " %"
	}
	return Fixed(p, 0) + " %"
}

// Count groups digits by three: "1,203".
func Count[T int | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural says "1 process", "2 processes".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Fixed is x with that many decimals, without "-0".
func Fixed(x float64, decimals int) string {
	s := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}

// Finite reports whether x is a number that can be shown.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Millis is a time that is known in whole ticks of nginx's clock.
func (g Glyphs) Millis(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return g.Time(float64(d))
}

// Timed is a time of a histogram, as exact as it is known.
func (g Glyphs) Timed(ns int64) string {
	const least = 1024 // shorter ones are in one bucket
	if ns < least {
		return "< 1 µs"
	}
	return g.Time(float64(ns))
}

// Few is a number, to a tenth where it is small.
func Few(n float64) string {
	const small = 10
	if n > 0 && n < small {
		return fmt.Sprintf("%.1f", n)
	}
	return Count(int64(n))
}
