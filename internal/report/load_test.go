package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestLoadOrder: problems come first, then the figures, and last what was asked of which server; the client's verdict is said once.
func TestLoadOrder(t *testing.T) {
	const verdict = "the client made the tail: it stood still 102 times"
	res := &record.LoadResults{
		Results: &record.Results{Complete: true}, Load: record.Load{Threads: 2, Connections: 8},
		Sides:    []record.LoadSide{{Name: "/", URL: "http://127.0.0.1:1/", Client: record.LoadClient{XROverN: 1, Verdict: verdict}}},
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
	if res.Problems = nil; !strings.Contains(draw(), "  client   "+verdict) {
		t.Errorf("without a problem the client's line has the verdict:\n%s", draw())
	}
}
