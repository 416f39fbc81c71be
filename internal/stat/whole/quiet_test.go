package whole

import (
	"math"
	"slices"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// runsBeside are runs of one command of 10 ms, with its twin of 1 ms; of each two a neighbour slows one by half, and the
// yardsticks around it.
func runsBeside(disturbed func(run int) bool) *record.Record {
	rec := &record.Record{
		Run:   record.Run{Kind: record.KindTime, Yardsticks: map[string]float64{"core": 1430}},
		Cases: []record.Case{{Name: "x", Runtime: record.KindCommand, Params: map[string]any{record.EmptyParam: "true"}}},
		End:   &record.End{Reason: "complete"},
	}
	for run := range 40 {
		slow := 1.0
		if disturbed(run) {
			slow = 1.5
		}
		jitter := 1 + 0.001*float64(run%7)
		one := func(kind string, ns float64) record.Batches {
			return record.Batches{Kind: kind, Calls: []int{1}, NS: []float64{ns * slow * jitter}}
		}
		wall := one(record.Measure, 10e6)
		wall.Yardsticks = map[string][]float64{"core": {1430 * slow, 1435 * slow}}
		rec.Processes = append(rec.Processes, &record.ProcessRecord{
			Process: record.Process{In: record.In{Process: run}, Round: run},
			Batches: []record.Batches{wall, one(record.User, 9e6), one(record.System, 1e5), one(record.Spawn, 3e5),
				one(record.Empty, 1e6), one(record.EmptyUser, 9e5), one(record.EmptySystem, 1e5)},
			Finish: &record.Finish{}, Exit: &record.Exit{Process: run},
		})
	}
	return rec
}

// TestQuietRuns: runs beside which nothing slowed the machine carry all figures of a command. Without any, all count, and
// that is told.
func TestQuietRuns(t *testing.T) {
	res := Summarize(runsBeside(func(run int) bool { return run%2 == 1 }))
	c := res.Commands[0]
	if c.Runs != 20 || math.Abs(c.WallNS.Estimate-10.03e6) > 0.05e6 || c.WallNS.Max > 10.1e6 || math.Abs(c.NetNS.Estimate-9.03e6) > 0.05e6 {
		t.Errorf("%d runs, wall %+v, without start-up %+v", c.Runs, c.WallNS, c.NetNS)
	}
	if q := res.Cases[0].Quiet; q == nil || q.Disturbed || q.Share != 0.5 || q.AllNS < 10e6 {
		t.Errorf("%+v of the machine", q)
	}
	res = Summarize(runsBeside(func(int) bool { return true }))
	told := slices.ContainsFunc(res.Cases[0].Warnings, func(w record.Warning) bool { return w.Code == "disturbed" })
	if c := res.Commands[0]; c.Runs != 40 || !told || res.Cases[0].NSPerCall.Low > 9e6 {
		t.Errorf("%d runs, %+v, warnings %+v", c.Runs, res.Cases[0].NSPerCall, res.Cases[0].Warnings)
	}
}

// TestQuietRunsKeepTheirBest: two looks a run are few, and those of many runs together have a best.
func TestQuietRunsKeepTheirBest(t *testing.T) {
	rec := runsBeside(func(run int) bool { return run%2 == 1 })
	rec.Run.Yardsticks = nil
	if c := Summarize(rec).Commands[0]; c.Runs != 20 {
		t.Errorf("%d runs carry the figure", c.Runs)
	}
}
