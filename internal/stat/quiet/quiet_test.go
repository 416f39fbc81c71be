package quiet

import (
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// steadily is a process whose yardsticks took these times, a hundred times each.
func steadily(core, cache float64) *record.ProcessRecord {
	b := record.Batches{Kind: record.Measure, Yardsticks: map[string][]float64{}}
	for range 100 {
		b.Yardsticks["core"] = append(b.Yardsticks["core"], core)
		b.Yardsticks["cache"] = append(b.Yardsticks["cache"], cache)
	}
	return &record.ProcessRecord{Batches: []record.Batches{b}}
}

func TestBestOf(t *testing.T) {
	rec := &record.Record{}
	if best := BestOf(rec); len(best) != 0 {
		t.Errorf("of nothing: %v", best)
	}
	rec.Processes = []*record.ProcessRecord{steadily(2200, 1300), steadily(1000, 500), steadily(1430, 1080), steadily(1440, 1070)}
	if best := BestOf(rec); best["core"] != 1430 || best["cache"] != 1070 {
		t.Errorf("%v; the one whose clock was wrong says nothing", best)
	}
	rec.Run.Yardsticks = map[string]float64{"core": 1400, "cache": 1100, "unknown": 1}
	if best := BestOf(rec); best["core"] != 1400 || best["cache"] != 1070 || len(best) != 2 {
		t.Errorf("%v; what is better of before and now holds", best)
	}
	rec.Processes = []*record.ProcessRecord{{Batches: []record.Batches{{Yardsticks: map[string][]float64{"core": {0, 0, 1500}}}}}}
	rec.Run.Yardsticks = nil
	if best := BestOf(rec); len(best) != 0 {
		t.Errorf("%v of a process with a single time", best)
	}
}

// A clock that was set back while a yardstick was timed, as by a suspended virtual machine, says nothing good of the moment, nor
// of the machine's best.
func TestSuspended(t *testing.T) {
	best := Best{"core": 1000}
	for _, wrong := range []float64{0, 3, 880} {
		times := map[string][]float64{"core": {1000, wrong, 1000, 1010}}
		for i, want := range []bool{false, false, true} {
			if _, quiet, ok := best.Slower(record.Batches{Yardsticks: times}, i); !ok || quiet != want {
				t.Errorf("a look of %g ns, batch %d: quiet %t", wrong, i, quiet)
			}
		}
		if m := best.Moments(times); len(m) != 4 || m[1].Quiet || !m[0].Quiet || !m[3].Quiet {
			t.Errorf("a look of %g ns: %+v", wrong, m)
		}
		p := steadily(1000, 1000)
		p.Batches[0].Yardsticks["core"][7] = wrong
		if seen := Seen(&record.Record{Processes: []*record.ProcessRecord{p}}); seen["core"] != 1000 {
			t.Errorf("a look of %g ns is the best: %v", wrong, seen)
		}
	}
	faster := steadily(700, 700) // a machine that became faster is no error
	faster.Batches[0].NS, faster.Batches[0].Calls = []float64{1}, []int{1}
	now := BestOf(&record.Record{Run: record.Run{Yardsticks: best}, Processes: []*record.ProcessRecord{faster}})
	if _, quiet, _ := now.Slower(faster.Batches[0], 0); !quiet {
		t.Errorf("on a machine that became faster nothing is quiet: %v", now)
	}
}

// Moments of looks that are not around batches are quiet where each yardstick was near its best.
func TestMoments(t *testing.T) {
	m := Best{"core": 1000, "cache": 1000}.Moments(map[string][]float64{"core": {1010, 1500, 1000}, "cache": {1050, 1000, 1100}, "other": {1}})
	if len(m) != 3 || !m[0].Quiet || m[1].Quiet || m[2].Quiet || m[1].Slower != 0.5 {
		t.Errorf("%+v", m)
	}
	if Mostly(m) || !Mostly(m[:1]) || !Mostly(nil) || Mostly(m[:2]) {
		t.Error("mostly")
	}
	if m := (Best{}).Moments(map[string][]float64{"core": {1}}); m != nil {
		t.Errorf("without a best: %v", m)
	}
}

func TestSlower(t *testing.T) {
	best := Best{"core": 1000, "cache": 1000}
	line := record.Batches{Yardsticks: map[string][]float64{
		"core": {1000, 1010, 1400, 1020}, "cache": {1050, 1050, 1100, 1050}, "memory": {9000, 9000, 9000, 9000},
	}}
	for i, want := range []struct {
		by    float64
		quiet bool
	}{{0.05, true}, {0.4, false}, {0.4, false}} {
		if by, quiet, ok := best.Slower(line, i); !ok || quiet != want.quiet || by < want.by-1e-9 || by > want.by+1e-9 {
			t.Errorf("batch %d: slower by %g, quiet %t, known %t; want %+v", i, by, quiet, ok, want)
		}
	}
	if _, _, ok := best.Slower(record.Batches{}, 0); ok {
		t.Error("without yardsticks something is known")
	}
	if _, _, ok := (Best)(nil).Slower(line, 0); ok {
		t.Error("without a best something is known")
	}
}

// Whole commands have two looks each: those of many runs together have a best.
func TestBestOfManyRuns(t *testing.T) {
	rec := &record.Record{}
	for range 24 {
		rec.Processes = append(rec.Processes, &record.ProcessRecord{
			Batches: []record.Batches{{Kind: record.Measure, Yardsticks: map[string][]float64{"core": {1430, 1700}}}},
		})
	}
	if best := BestOf(rec); len(best) != 0 {
		t.Errorf("%v of 48 looks", best)
	}
	rec.Processes = append(rec.Processes, rec.Processes[0])
	if best := BestOf(rec); best["core"] != 1430 {
		t.Errorf("%v of 50 looks", best)
	}
}

// Two ms in quiet batches carry a figure, however many these are, or a tenth of less.
func TestEnough(t *testing.T) {
	for _, c := range []struct {
		quiet, all float64
		enough     bool
	}{{0, 0, false}, {0, 1e6, false}, {1e6, 1e6, true}, {9 * 2e5, 200 * 2e5, false}, {10 * 2e5, 200 * 2e5, true}, {1e7, 8e7, true}, {2e5, 1e6, true}} {
		if got := Enough(c.quiet, c.all); got != c.enough {
			t.Errorf("%g of %g ns: %t", c.quiet, c.all, got)
		}
	}
}
