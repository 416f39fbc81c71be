package capture

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Condition{
		"turn>100ms":         {Turn, 1e8, 0},
		" held > 1.5s ":      {Held, 1.5e9, 0},
		"sleep>50ms":         {Sleep, 5e7, 0},
		"request>2s":         {Request, 2e9, 0},
		"cpu>95%":            {CPU, 0.95, 5 * time.Second},
		"cpu > 99.9 % for1s": {}, // no blank
		"cpu>99.9% for 10s":  {CPU, 0.999, 10 * time.Second},
		"gc>30%":             {GC, 0.3, 2 * time.Second},
		"heap>200MB":         {Heap, 2e8, 0},
		"heap>1.5 GiB":       {Heap, 1.5 * (1 << 30), 0},
		"growth>150%":        {Growth, 1.5, 0},
		"ended":              {What: Ended},
	} {
		got, err := Parse(text)
		if want == (Condition{}) {
			if err == nil {
				t.Errorf("%q: %+v", text, got)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

// TestParseErrors: an error says what would be right.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                    `"": no such condition; there are turn>100ms, held>100ms, sleep>50ms, `,
		"trun>5ms":            `"trun>5ms": no such condition; there are turn>100ms`,
		"turn":                "above what? As 'turn>100ms', in quotes, or the shell",
		"turn>":               "above what? As 'turn>100ms', in quotes, or the shell",
		"turn>100":            `"100" is not a duration, as in turn>100ms`,
		"turn>=100ms":         `"=100ms" is not a duration, as in turn>100ms`,
		"turn<100ms":          "conditions are about what is above, as turn>100ms",
		"turn>1us":            "turn must be at least 1ms",
		"turn>-5s":            "turn must be at least 1ms",
		"turn>100ms for 5s":   "of no time; only cpu and gc are, as cpu>95% for 5s",
		"held>5ms":            "held must be at least 20ms, because samples show it to 10ms; turn is exact",
		"cpu>100%":            "cpu must be from 0.1% to 99.9%: one thread uses no more than one processor",
		"cpu>0.95":            `"0.95" is not a percentage, as in cpu>95% for 5s`,
		"cpu>NaN%":            `"NaN%" is not a percentage`,
		"cpu>95% for a while": "for a duration from 1s to 1h, as in cpu>95% for 5s",
		"cpu>95% for 1ms":     "for a duration from 1s to 1h",
		"heap>200":            `heap must be at least 1KiB`,
		"heap>0B":             "heap must be at least 1KiB",
		"heap>1e300GB":        `"1e300GB" is not a size, as in heap>200MB`,
		"growth>inf%":         `"inf%" is not a percentage`,
		"ended>5s":            "ended stands alone",
	} {
		if c, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", text, c, err, want)
		}
	}
}

// TestExamples: the examples are conditions.
func TestExamples(t *testing.T) {
	for i, text := range Examples() {
		c, err := Parse(text)
		if err != nil || c.What != order[i] || c.String() != text {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
	if len(order) != len(subjects) {
		t.Errorf("%d conditions are told, of %d", len(order), len(subjects))
	}
}

// FuzzParse: what is taken is written so that it is taken again, for the same.
func FuzzParse(f *testing.F) {
	for _, text := range append(Examples(), "heap>1.5GiB", "cpu>33.3% for 90s", "turn>1h2m3.004s", "turn>", "ended ", ">", "gc>%", "heap>B for 1s") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			if !strings.Contains(err.Error(), ">") && !strings.Contains(err.Error(), "ended") && !strings.Contains(err.Error(), "must be") && !strings.Contains(err.Error(), "stands alone") {
				t.Errorf("%q: no remedy: %v", text, err)
			}
			return
		}
		again, err := Parse(c.String())
		if err != nil || again.String() != c.String() || again.What != c.What || again.For != c.For {
			t.Errorf("%q: %+v, as %q %+v, %v", text, c, c, again, err)
		}
	})
}
