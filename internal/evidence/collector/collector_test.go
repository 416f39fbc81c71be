package collector

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
)

// TestOf: rates are those of the time in which no cycle can have been missed; what is not known of the bytes is in
// their bounds. Both intervals together have the totals of both, and the rates of the later one.
func TestOf(t *testing.T) {
	c := Collections{
		Seen: 8 * time.Second, Missed: 2 * time.Second, Cycles: 16, Allocated: 3e6, Guessed: 1e6,
		Last: []Cycle{{Length: time.Second, Marked: 4000, Left: 3000}}, Longest: Step{Least: 3, Most: 4, Phase: 2},
	}
	r := Of(7, c, 25, 100)
	w := r.Workers[0]
	if w.Cycles != 2 || w.Missed != 0.2 || w.Allocated != (record.Interval{Estimate: 3e5, Low: 2e5, High: 4e5}) || w.Last[0] != (Cycle{Length: time.Second, Marked: 4000, Left: 3000}) {
		t.Errorf("%+v", w)
	}
	if s := w.Share; s.Estimate != 0.25 || s.Low > 0.2 || s.Low < 0.15 || s.High < 0.3 || s.High > 0.36 {
		t.Errorf("%+v", s)
	}
	if *w.Longest != (Step{Least: 3, Most: 4, Phase: 2}) {
		t.Errorf("%+v", w.Longest)
	}
	c.Cycles = 8
	both := r.Merge(Of(7, c, 25, 100)).Merge(Of(8, c, 25, 100)).(*Result)
	if len(both.Workers) != 2 || both.Workers[0].Cycles != 1 || both.Workers[0].AllCycles != 24 || both.Workers[0].AllAllocated != 6e6 || both.Workers[1].AllCycles != 8 {
		t.Errorf("%+v", both)
	}
	data, err := json.Marshal(r)
	var again Result
	if err != nil || json.Unmarshal(data, &again) != nil || !cmp.Equal(*r, again) {
		t.Errorf("%s: %s", data, cmp.Diff(*r, again))
	}
	if Of(7, Collections{}, 0, 0) != nil {
		t.Error("nothing was read")
	}
}
