package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/explain"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestResumes: phases with what they entered and what waits in between, each worker's, and the longest with their lines.
func TestResumes(t *testing.T) {
	span := func(n int, total int64) explain.Spans {
		return explain.Spans{Count: n, Median: 500, P99: 20e3, Longest: 3e6, Total: total, Share: float64(total) / 1e9}
	}
	phase := explain.PhaseResumes{Phase: "content", Rate: 300, Began: 100, NoCPU: 0.02, Own: span(300, 1e8), Whole: span(300, 2e8), Wait: span(200, 5e8)}
	r := &explain.Resumes{
		Elapsed: 2e9, Probed: 1e9, Bursts: 4, Count: 300, Each: 2700, Cost: 0.02, Budget: 0.01, Lost: 1, Unseen: []string{"balancer"},
		Phases: []explain.PhaseResumes{phase},
		Workers: []explain.WorkerResumes{
			{PID: 11, Rate: 100, Share: 0.1, Phases: []explain.PhaseResumes{phase}}, {PID: 12, Rate: 200, Share: 0.3, Phases: []explain.PhaseResumes{{Own: span(1, 3e8)}}},
		},
		Longest: []explain.LongResume{{Phase: "content", URI: "/x", Own: 3e6, NoCPU: 1e6, GoesOn: true, From: "f@a.lua:3", Ran: "g@a.lua:4", Pauses: true,
			Waits: "f@a.lua:5", In: "ngx.sleep"}},
	}
	draw := func(r *explain.Resumes) string {
		var out bytes.Buffer
		if err := (Profile{PIDs: []int{11, 12}, Which: "on-cpu", By: "ebpf", Duration: 2 * time.Second, Hz: 99, Resumes: r}).Write(&out, ui.Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	got := draw(r)
	for _, want := range []string{
		"content 300 3.0 < 1 µs 20.0 µs 3.00 ms 10 % 2 %",
		"with others inside < 1 µs 20.0 µs 3.00 ms 20 %",
		"waits in between < 1 µs 20.0 µs 3.00 ms",
		"11 100 10 % content 10 %",
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
	if got := draw(&explain.Resumes{Probed: 1e9}); !strings.Contains(got, "none in 1.00 s of probing") {
		t.Error(got)
	}
	if got := draw(nil); strings.Contains(got, "resumes") {
		t.Error(got)
	}
}
