package report

import (
	"bytes"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestLoadOrder: problems come first, then the figures, and last what was asked of which server; the client's verdict is said once.
func TestLoadOrder(t *testing.T) {
	const verdict = "the client made the tail: it stood still 102 times"
	res := &record.LoadResults{
		Results: &record.Results{Complete: true}, Load: record.Load{Threads: 2, Connections: 8},
		Sides:    []record.LoadSide{{LoadSeen: record.LoadSeen{Name: "/", Client: record.LoadClient{XROverN: 1, Verdict: verdict}}, URL: "http://127.0.0.1:1/"}},
		Problems: []record.LoadProblem{{Text: verdict}},
	}
	draw := func() string {
		var b bytes.Buffer
		if err := Load(&b, res, LoadOptions{Options: ui.Options{Width: 200}}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := draw()
	at := -1
	for _, want := range []string{"! " + verdict, "req/s", "  client   ", "  URL      http://127.0.0.1:1/", "  load     2 threads"} {
		next := strings.Index(got, want)
		if next <= at {
			t.Errorf("%q is not there, or too early, in\n%s", want, got)
		}
		at = next
	}
	if n := strings.Count(got, "made the tail"); n != 1 {
		t.Errorf("the verdict is there %d times:\n%s", n, got)
	}
	if strings.Contains(got, "0 ns  0 ns") {
		t.Errorf("where nothing was answered there is no latency:\n%s", got)
	}
	if res.Problems = nil; !strings.Contains(draw(), "  client   "+verdict) {
		t.Errorf("without a problem the client's line has the verdict:\n%s", draw())
	}
}

// TestLoadFits: no line is wider than the page, however long the names are and whatever the figures; each figure is there.
func TestLoadFits(t *testing.T) {
	latency := record.LoadLatency{Count: 1e6, P50: 12.34e6, P90: 123.4e6, P99: 234.5e6, P999: 345.6e6, Max: 456.7e6}
	side := func(name string) record.LoadSide {
		return record.LoadSide{
			LoadSeen: record.LoadSeen{
				Name: name, LatencyNS: latency, Rate: record.Interval{Estimate: 123456, Low: 120000, High: 125000},
				Errors: record.LoadErrors{Timeout: 123456},
			},
			RawNS:  latency,
			Server: &record.LoadServer{CPUPerRequestNS: record.Interval{Estimate: 123400, Low: 120000, High: 126000}},
			Tags:   []record.LoadTagged{{Name: strings.Repeat("tag", 30), Count: 123456, LatencyNS: latency}},
		}
	}
	long := "http://a.very.long.host.example:18640/and/a/path/that/is/long?"
	for _, names := range [][]string{{"/"}, {"/ctx", "/var"}, {long + "a", long + "b", long + "c"}} {
		res := &record.LoadResults{Results: &record.Results{Complete: true}}
		for _, name := range names {
			res.Sides = append(res.Sides, side(name))
		}
		for _, width := range []int{60, 80, 120, 200} {
			var b bytes.Buffer
			if err := Load(&b, res, LoadOptions{Options: ui.Options{Width: width}, Percentiles: true}); err != nil {
				t.Fatal(err)
			}
			got := b.String()
			for line := range strings.Lines(got) {
				if lipgloss.Width(strings.TrimRight(line, "\n")) > width {
					t.Errorf("wider than %d: %q", width, line)
				}
			}
			for _, figure := range []string{"123,456", "12.3 ms", "123 ms", "234 ms", "346 ms", "457 ms", "corrected", "raw", "server CPU"} {
				if strings.Count(got, figure) < len(names) && figure != "server CPU" || !strings.Contains(got, figure) {
					t.Errorf("%s is not there for each of %d sides on %d columns:\n%s", figure, len(names), width, got)
				}
			}
		}
	}
}
