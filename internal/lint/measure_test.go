package lint

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// TestMeasureUnderLoad: a pair of configurations is priced by what the server takes more a request; runs that do not agree leave it
// undecided, and a pair that about.md does not call measured has no price.
func TestMeasureUnderLoad(t *testing.T) {
	rule := Rule{Name: "x", Conf: true, Bad: "bad;", Good: "good;", About: "# X\n\nMeasured: under load\n"}
	for _, c := range []struct {
		name    string
		runs    []Loaded
		verdict string
		more    float64
	}{
		{"agree", []Loaded{{1000, record.Interval{Estimate: 1.2, Low: 1.1, High: 1.3}, record.Slower},
			{2000, record.Interval{Estimate: 1.4, Low: 1.3, High: 1.5}, record.Slower}}, record.Slower, 800},
		{"disagree", []Loaded{{1000, record.Interval{Estimate: 1.2, Low: 1.1, High: 1.3}, record.Slower},
			{1000, record.Interval{Estimate: 1.1, Low: 0.9, High: 1.3}, record.Undecided}}, record.Undecided, 200},
	} {
		n := 0
		m := Measuring{Runs: len(c.runs), VM: "VM", Now: time.Now, Load: func(_ context.Context, good, bad string) (Loaded, error) {
			for file, want := range map[string]string{good: "good;", bad: "bad;"} {
				if text, err := os.ReadFile(file); err != nil || string(text) != want {
					t.Errorf("%s: %q, %v", file, text, err)
				}
			}
			n++
			return c.runs[n-1], nil
		}}
		p, err := m.Measure(t.Context(), rule)
		if err != nil || p.Per != "request" || p.Rule != "x" || p.VM != "VM" || p.Verdict != c.verdict || len(p.Runs) != len(c.runs) ||
			p.Difference.Estimate < c.more-1 || p.Difference.Estimate > c.more+1 {
			t.Errorf("%s: %+v, %v", c.name, p, err)
		}
	}
	m := Measuring{Runs: 1, Now: time.Now, Load: func(context.Context, string, string) (Loaded, error) { return Loaded{}, errors.New("no nginx") }}
	if _, err := m.Measure(t.Context(), rule); err == nil || !strings.Contains(err.Error(), "the pair of the rule x: no nginx") {
		t.Error(err)
	}
	rule.About = "# X\n"
	if p, err := m.Measure(t.Context(), rule); p != nil || err != nil {
		t.Errorf("%+v, %v", p, err)
	}
}
