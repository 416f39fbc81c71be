package report

import (
	"math"
	"strconv"
	"strings"

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
func (g glyphs) unitOf(figure string, s scale) string {
	unit := s.unit
	if unit == "µs" {
		unit = g.micro + "s"
	}
	return strings.TrimSpace(figure + " " + unit)
}

// time shows ns with three digits: "6.31 ns", "140 ns", "1.20 ms".
func (g glyphs) time(ns float64) string {
	if !finite(ns) {
		return "?"
	}
	s := pick(timeScales, ns)
	return g.unitOf(threeDigits(ns/s.per), s)
}

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
	return fixed(x, decimals)
}

// interval shows an estimate with as many digits as its interval bears: "140.2 ±
// 1.3 ns". The longer arm counts for both. An interval without width is not known
// rather than perfect: "140 ± ? ns".
func (g glyphs) interval(i record.Interval) string {
	return g.between(i, timeScales)
}

func (g glyphs) between(i record.Interval, scales []scale) string {
	if !finite(i.Estimate) {
		return "?"
	}
	s := pick(scales, i.Estimate)
	arm := math.Max(i.High-i.Estimate, i.Estimate-i.Low) / s.per
	x := i.Estimate / s.per
	if !finite(arm) || arm <= 0 {
		return g.unitOf(threeDigits(x)+" "+g.plusMinus+" ?", s)
	}
	arm = math.Max(arm, 0.001) // what is not shown is not claimed
	d := decimalsOf(arm)
	return g.unitOf(fixed(x, d)+" "+g.plusMinus+" "+fixed(arm, d), s)
}

// decimalsOf is how many decimals an uncertainty bears: two digits of it when it
// begins with 1, else one, the usual rule of measurement (GUM 7.2.6); three decimals
// at most.
func decimalsOf(arm float64) int {
	exp := math.Floor(math.Log10(arm))
	digits := 1.0
	if arm/math.Pow(10, exp) < 2 {
		digits = 2
	}
	return int(math.Min(3, math.Max(0, digits-1-exp)))
}

// size shows bytes: "0 B", "31.9 B", "1.50 kB".
func (g glyphs) size(bytes float64) string {
	if !finite(bytes) {
		return "?"
	}
	s := pick(sizeScales, bytes)
	if whole := math.Round(bytes); s.per == 1 && math.Abs(bytes-whole) < 0.05 {
		return g.unitOf(fixed(whole, 0), s)
	}
	return g.unitOf(threeDigits(bytes/s.per), s)
}

// rate shows a number a second: "7.13 M", "950".
func (g glyphs) rate(perSecond float64) string {
	if !finite(perSecond) {
		return "?"
	}
	s := pick(rateScales, perSecond)
	return g.unitOf(threeDigits(perSecond/s.per), s)
}

// percent shows a share of 0…1: "83 %", "0.4 %".
func percent(share float64) string {
	p := 100 * share
	if a := math.Abs(p); a > 0 && a < 9.95 && math.Abs(p-math.Round(p)) >= 0.05 {
		return fixed(p, 1) + " %"
	}
	return fixed(p, 0) + " %"
}

// count groups digits by three: "1,203".
func count[T int | int64](n T) string {
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

// plural says "1 process", "2 processes".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// fixed is x with that many decimals, without "-0".
func fixed(x float64, decimals int) string {
	s := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
