package ui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moonlap/moonlap/internal/record"
	"pgregory.net/rapid"
)

func TestBarsOf(t *testing.T) {
	bin := func(low, high float64, n int64) record.Bin { return record.Bin{Low: low, High: high, Count: n} }
	for _, tt := range []struct {
		name string
		bins []record.Bin
		want []bar
	}{
		{"none", nil, nil},
		{"all equal", []record.Bin{bin(140, 140, 400)}, []bar{{low: 140, count: 400}}},
		{"one bin", []record.Bin{bin(140, 141, 400)}, []bar{{low: 140, count: 400}}},
		{"overflow by its width", []record.Bin{bin(1, 2, 5), bin(2, 3, 6), bin(3, 900, 7)},
			[]bar{{low: 1, count: 5}, {low: 2, count: 6}, {low: 3, count: 7, overflow: true}}},
		{"overflow without an end", []record.Bin{bin(1, 2, 5), bin(2, 0, 6)}, []bar{{low: 1, count: 5}, {low: 2, count: 6, overflow: true}}},
		{"growing bins have none", []record.Bin{bin(1, 2, 5), bin(2, 4, 6), bin(4, 8, 7)}, []bar{{low: 1, count: 5}, {low: 2, count: 6}, {low: 4, count: 7}}},
		{"a gap", humps(0, 1, 3, 0, 0, 0, 2, 0, 0, 1),
			[]bar{{low: 0, count: 3}, {gap: true}, {low: 4, count: 2}, {low: 5}, {low: 6}, {low: 7, count: 1}}},
		{"merged by two", humps(0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13),
			[]bar{{low: 0, count: 3}, {low: 2, count: 7}, {low: 4, count: 11}, {low: 6, count: 15}, {low: 8, count: 19}, {low: 10, count: 23}, {low: 12, count: 13}}},
	} {
		if d := cmp.Diff(tt.want, barsOf(tt.bins), cmp.AllowUnexported(bar{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

func TestBarsLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var bins []record.Bin
		low, total := rapid.Float64Range(0, 1e3).Draw(t, "low"), int64(0)
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			high := low + rapid.Float64Range(0, 1e6).Draw(t, "width")
			n := rapid.Int64Range(0, 1e9).Draw(t, "count")
			bins = append(bins, record.Bin{Low: low, High: high, Count: n})
			low, total = high, total+n
		}
		rows := barsOf(bins)
		if len(rows) > mostBars+1 {
			t.Fatalf("%d rows", len(rows))
		}
		sum := int64(0)
		for _, r := range rows {
			sum += r.count
		}
		if sum != total {
			t.Fatalf("%d of %d were drawn", sum, total)
		}
		p := NewPage(Options{})
		p.Bars(bins)
		for line := range strings.Lines(p.b.String()) {
			if strings.HasSuffix(strings.TrimSpace(line), " 0") && strings.ContainsAny(line, "▏█") {
				t.Fatalf("an empty row has a bar: %q", line)
			}
		}
	})
}

func TestDrawBar(t *testing.T) {
	for _, tt := range []struct {
		share float64
		want  string
	}{{0, ""}, {1e-9, "▏"}, {0.5, "██"}, {0.53125, "██▏"}, {1, "████"}} {
		if got := unicodeGlyphs.drawBar(tt.share, 4); got != tt.want {
			t.Errorf("drawBar(%v) = %q, want %q", tt.share, got, tt.want)
		}
	}
	if got := asciiGlyphs.drawBar(0.01, 4); got != "#" {
		t.Errorf("ASCII: %q", got)
	}
}

// Labels tell the rows apart, however close these are.
func TestBarLabels(t *testing.T) {
	p := NewPage(Options{})
	for _, tt := range []struct {
		rows []bar
		want []string
	}{
		{[]bar{{low: 140}, {low: 150, overflow: true}}, []string{"140 ns", "≥ 150 ns"}},
		{[]bar{{low: 140.21}, {low: 140.24}, {gap: true}, {low: 140.27}}, []string{"140.21 ns", "140.24 ns", "⋮", "140.27 ns"}},
		{[]bar{{low: 80}, {low: 80e3}, {low: 80e6}}, []string{"80.0 ns", "80.0 µs", "80.0 ms"}},
		{[]bar{{low: 1}, {low: 1 + 1e-12}}, []string{"1 ns", "1.000000000001 ns"}},
	} {
		if d := cmp.Diff(tt.want, p.barLabels(tt.rows)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// humps are bins of equal width.
func humps(low, width float64, counts ...int64) []record.Bin {
	var bins []record.Bin
	for i, n := range counts {
		bins = append(bins, record.Bin{Low: low + float64(i)*width, High: low + float64(i+1)*width, Count: n})
	}
	return bins
}
