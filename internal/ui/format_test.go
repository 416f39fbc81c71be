package ui

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/moonlap/moonlap/internal/record"
	"pgregory.net/rapid"
)

func TestTime(t *testing.T) {
	for ns, want := range map[float64]string{
		0: "0 ns", 0.004: "0.00 ns", 0.283: "0.28 ns", 6.3: "6.30 ns", 99.96: "100 ns", 140.4: "140 ns", 999.4: "999 ns",
		999.6: "1.00 µs", 1234: "1.23 µs", 151e3: "151 µs", 1.5e6: "1.50 ms", 2e9: "2.00 s", 4e12: "4000 s",
		-0.2: "-0.20 ns", -0.001: "0.00 ns", math.Inf(1): "?",
	} {
		if got := unicodeGlyphs.Time(ns); got != want {
			t.Errorf("time(%v) = %q, want %q", ns, got, want)
		}
	}
	if got := asciiGlyphs.Time(1234); got != "1.23 us" {
		t.Errorf("ASCII: %q", got)
	}
}

func TestInterval(t *testing.T) {
	for _, tt := range []struct {
		estimate, low, high float64
		want                string
	}{
		{140.23, 139.1, 141.5, "140.2 ± 1.3 ns"},
		{6.3041, 6.28, 6.33, "6.30 ± 0.03 ns"},
		{6.3041, 6.3028, 6.3052, "6.304 ± 0.001 ns"},
		{6.3, 6.299999, 6.300001, "6.300 ± 0.001 ns"},
		{143, 86, 200, "143 ± 57 ns"},
		{1234.5, 1222, 1240, "1.234 ± 0.013 µs"},
		{5e6, 4e6, 7e6, "5 ± 2 ms"},
		{0.02, -0.28, 0.3, "0.0 ± 0.3 ns"},
		{-0.1, -0.3, 0.1, "-0.1 ± 0.2 ns"},
		{140.2, 140.2, 140.2, "140 ± ? ns"},
		{140.2, 0, 0, "140 (0–0) ns"},
		{31, 28.2, 55.4, "31 (28–55) ns"},
		{27, -4, 128, "27 (-4 to 128) ns"},
		{0.0001, 0, 0.0003, "0.000 ± 0.001 ns"}, // its ends are not told apart
		{1.5e6, 1.4e6, 2.1e6, "1.5 (1.4–2.1) ms"},
		{31, 30.9, 31.4, "31.0 ± 0.4 ns"}, // narrow: the longer arm says enough
		{10, 10, math.Inf(1), "10.0 ± ? ns"},
		{math.NaN(), 0, 0, "?"},
	} {
		if got := unicodeGlyphs.Interval(record.Interval{Estimate: tt.estimate, Low: tt.low, High: tt.high}); got != tt.want {
			t.Errorf("interval(%v, %v, %v) = %q, want %q", tt.estimate, tt.low, tt.high, got, tt.want)
		}
	}
}

func TestRanges(t *testing.T) {
	g := unicodeGlyphs
	for got, want := range map[string]string{
		g.TimeRange(record.Interval{Low: 616e3, High: 624e3}):                    "616–624 µs",
		g.TimeRange(record.Interval{Low: -4, High: 14}):                          "-4 to 14 ns",
		g.TimeRange(record.Interval{Low: 0.98e3, High: 1.02e3}):                  "0.98–1.02 µs",
		g.ShareRange(record.Interval{Estimate: 0.62, Low: 0.58, High: 0.65}):     "62 % (58–65)",
		g.ShareRange(record.Interval{Estimate: 0.012, Low: 0.0041, High: 0.024}): "1.2 % (0.4–2.4)",
		g.ShareRange(record.Interval{Estimate: 0.43, Low: 0.43, High: 0.43}):     "43 %",
		asciiGlyphs.Interval(record.Interval{Estimate: 31, Low: 28, High: 55}):   "31 (28-55) ns",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSizeRatePercentCount(t *testing.T) {
	g := unicodeGlyphs
	for got, want := range map[string]string{
		g.Size(0): "0 B", g.Size(31.97): "32 B", g.Size(31.5): "31.5 B", g.Size(0.42): "0.42 B", g.Size(-8): "-8 B",
		g.Size(1500): "1.50 kB", g.Size(3.2e6): "3.20 MB",
		g.Rate(950): "950", g.Rate(7.13e6): "7.13 M", g.Rate(0.5): "0.50",
		Percent(0.83): "83 %", Percent(0.004): "0.4 %", Percent(0): "0 %", Percent(1): "100 %", Percent(0.0166): "1.7 %", Percent(0.03): "3 %",
		Count(0): "0", Count(999): "999", Count(1203): "1,203", Count(12345678): "12,345,678", Count(-1234): "-1,234", Count(-123): "-123",
		Plural(1, "process", "processes"): "1 process", Plural(30, "process", "processes"): "30 processes",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestShortenFitsAndKeepsTheEnds(t *testing.T) {
	if got := unicodeGlyphs.Shorten("string.concat/how=table.concat/n=100", 20); got != "string.con…cat/n=100" {
		t.Errorf("shorten: %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("ab/=月ラé́👍🏽"))).Draw(t, "s")
		width := rapid.IntRange(-1, 40).Draw(t, "width")
		for _, g := range []Glyphs{unicodeGlyphs, asciiGlyphs} {
			got := g.Shorten(s, width)
			if lipgloss.Width(got) > max(0, width) {
				t.Fatalf("%q is %d columns wide, more than %d", got, lipgloss.Width(got), width)
			}
			if lipgloss.Width(s) <= width && got != s {
				t.Fatalf("%q fits and became %q", s, got)
			}
		}
	})
}

// TestShortenAll: names that would look alike begin where they differ.
func TestShortenAll(t *testing.T) {
	names := []string{
		"local t = {} for i = 1, 10 do t[i] = i end return t",
		"local t = {} for i = 1, 10 do table.insert(t, i) end return t", "short", "short",
		"a/long/path/without/a/space/n=10/of=concat", "a/long/path/without/a/space/n=11/of=concat",
	}
	want := []string{"…t[i] = i end return t", "…table.insert(t, i) e…", "short", "short", "…n=10/of=concat", "…n=11/of=concat"}
	if d := cmp.Diff(want, unicodeGlyphs.ShortenAll(names, 22)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.StringOf(rapid.SampledFrom([]rune("ab =月ラé́👍🏽")))).Draw(t, "names")
		width := rapid.IntRange(-1, 20).Draw(t, "width")
		for i, got := range unicodeGlyphs.ShortenAll(names, width) {
			if lipgloss.Width(got) > max(0, width) || lipgloss.Width(names[i]) <= width && got != names[i] || !utf8.ValidString(got) {
				t.Fatalf("%q in %d columns of %q", got, width, names)
			}
		}
	})
}

func TestCleanDisarms(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\tc":                "a b c",
		"\x1b[2J\x1b[31mred\x07": "red?",
		"\xff\x00x":              "?x",
		"größe = 月":              "größe = 月",
		"a\u202eb":               "a?b",
	} {
		if got := Clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestHarmless: a page's own styles are obeyed, and nothing else that has come into a line.
func TestHarmless(t *testing.T) {
	const evil = "a\x1b[2Jb\u009b31mc\x1b]0;title\x07d\u202ee\x7ff\xffg\rh"
	for _, color := range []bool{false, true} {
		p := NewPage(Options{Color: color})
		p.Line(p.Bad.Render(evil) + " " + p.Faint.Render("quiet"))
		got := p.String()
		if strings.Contains(got, "\x1b[31m") != color {
			t.Errorf("colour %v: %q", color, got)
		}
		for _, style := range p.styles {
			got = strings.ReplaceAll(got, style, "")
		}
		if strings.ContainsFunc(strings.TrimSuffix(got, "\n"), harmful) {
			t.Errorf("%q", got)
		}
	}
	if got, want := Harmless("one\ttwo\n\x1b[2Jthree ☾"), "one    two\n?[2Jthree ☾"; got != want {
		t.Errorf("%q", got)
	}
}
