package report

import (
	"fmt"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestManyHosts: a report of many hosts with long names has every figure, on pages of 80 columns.
func TestManyHosts(t *testing.T) {
	for _, count := range []int{1, 3, 8, 20} {
		res := &record.HostsResult{Kind: "compare", Cases: []record.HostsCase{{Name: "route@old.lua"}, {Name: "route@new.lua"}}}
		c := record.HostComparison{A: "route@old.lua", B: "route@new.lua", Ratio: record.Interval{Estimate: 1.05, Low: 1.02, High: 1.08}, Verdict: record.Slower}
		for i := range count {
			name := fmt.Sprintf("measure-%d.lab.example.org", i+1)
			res.Hosts = append(res.Hosts, record.Host{Name: name, Complete: true})
			for k := range res.Cases {
				res.Cases[k].NSPerCall = append(res.Cases[k].NSPerCall, &record.Interval{Estimate: 101 + float64(i), Low: 100, High: 130})
			}
			c.Hosts = append(c.Hosts, record.OnHost{Host: name, Comparison: record.Comparison{Verdict: record.Slower, Ratio: record.Interval{Estimate: 1.05, Low: 1.02, High: 1.08}}})
		}
		res.Comparisons = []record.HostComparison{c}
		var b strings.Builder
		if err := Hosts(&b, res, ui.Options{}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if width := lipgloss.Width(strings.TrimSuffix(line, "\n")); width > ui.DefaultWidth {
				t.Errorf("%d hosts: %d columns: %s", count, width, line)
			}
		}
		for i := range count {
			if want := fmt.Sprintf("%d", 101+i); !strings.Contains(b.String(), want) {
				t.Errorf("%d hosts: no time of host %d in\n%s", count, i+1, b.String())
			}
		}
	}
}
