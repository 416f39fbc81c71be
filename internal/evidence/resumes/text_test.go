package resumes

import (
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestText: phases with what they entered and what waits in between, each worker's, and the longest with their lines.
func TestText(t *testing.T) {
	span := func(n int, total time.Duration) probe.Durations {
		return probe.Durations{Count: n, Median: 500, P99: 20e3, Longest: 3e6, Total: total}
	}
	phase := Phase{Phase: "content", Rate: 300, Began: 100, NoCPU: 2e7, Own: span(300, 1e8), Whole: span(300, 2e8), Wait: span(200, 5e8)}
	r := &Result{
		Duty: probe.Duty{Elapsed: 2e9, Probed: 1e9, Bursts: 4, Cost: 4e7, Budget: 0.01}, Count: 300, Each: 2700, Lost: 1, Unseen: []string{"balancer"},
		Phases: []Phase{phase},
		Workers: []Worker{
			{PID: 11, Probed: 1e9, Phases: []Phase{phase}}, {PID: 12, Probed: 1e9, Phases: []Phase{{Rate: 200, Own: span(1, 3e8)}}},
		},
		Longest: []Long{{Phase: "content", URI: "/x", Own: 3e6, NoCPU: 1e6, GoesOn: true, From: "f@a.lua:3", Ran: "g@a.lua:4", Pauses: true,
			Waits: "f@a.lua:5", In: "ngx.sleep"}},
	}
	draw := func(r *Result) string {
		p := ui.NewPage(ui.Options{Width: 200})
		r.Text(p, "")
		return strings.Join(strings.Fields(p.String()), " ")
	}
	got := draw(r)
	for _, want := range []string{
		"content 300 3.0 < 1 µs 20.0 µs 3.00 ms 10 % 2 %",
		"with others inside < 1 µs 20.0 µs 3.00 ms 20 %",
		"waits in between < 1 µs 20.0 µs 3.00 ms",
		"11 300 10 % content 10 %",
		"12 200 30 % (not known) 30 %",
		"2.00 ms content · /x · goes on in f@a.lua:3 · ran g@a.lua:4 · then waits f@a.lua:5 → ngx.sleep · and 1.00 ms without a processor",
		"300 resumes in 1.00 s of probing, of 2.00 s.",
		"more than the budget",
		"attached in 4 bursts",
		"1 resume was nested too deep",
		"Not to be seen in this nginx: balancer.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := draw(&Result{Duty: probe.Duty{Probed: 1e9}}); !strings.Contains(got, "none in 1.00 s of probing") {
		t.Error(got)
	}
}
