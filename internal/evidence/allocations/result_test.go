package allocations

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/worker"
)

// run is two samples of a worker's allocations, in a line and outside of Lua; they began that many seconds after the first.
func run(began int64, line int) worker.Looks {
	at := worker.Frame{Kind: luajit.Lua, Function: "f", File: "/a.lua", FirstLine: 1, Line: line}
	return worker.Looks{
		Samples: []worker.Sample{
			{Lua: true, Stack: []worker.Frame{at}, Allocation: &worker.Allocation{Bytes: 300, Blocks: 3}},
			{Allocation: &worker.Allocation{Bytes: 100, Blocks: 1}},
		},
		Allocations: &worker.Allocations{
			Began: time.Unix(began, 0), Elapsed: time.Second, Bytes: 400, Low: 300, High: 500, Blocks: 4, Budget: 0.01, Cost: time.Millisecond,
			Served: map[int]worker.Served{1: {Workers: []int{2}, Requests: 10}},
		},
	}
}

func workers(int) ([]int, error) { return []int{2}, nil }

// TestOf: lines have the bytes that their samples represent, and requests count only where all workers of the nginx were sampled.
func TestOf(t *testing.T) {
	r := Of(run(5, 3), time.Second, workers)
	if r.Bytes != 400 || r.Samples != 2 || r.Effective != 1.6 || r.Requests != 10 || r.Duration != time.Second {
		t.Errorf("%+v", r)
	}
	if d := cmp.Diff([]Line{{"f@a.lua:3", 0.75, 300, 3}, {"(outside of Lua)", 0.25, 100, 1}}, r.Lines); d != "" {
		t.Error(d)
	}
	for name, workers := range map[string]func(int) ([]int, error){
		"another worker": func(int) ([]int, error) { return []int{2, 3}, nil },
		"an error":       func(int) ([]int, error) { return nil, errors.New("gone") },
	} {
		if r := Of(run(5, 3), time.Second, workers); r.Requests != 0 {
			t.Errorf("%s: %d requests", name, r.Requests)
		}
	}
	if Of(worker.Looks{}, time.Second, workers) != nil {
		t.Error("something, where nobody asked")
	}
}

// TestMerge: what both allocated, over the time from the first one's beginning to the last one's end; neither changes.
func TestMerge(t *testing.T) {
	a, b := Of(run(5, 3), time.Second, workers), Of(run(4, 7), time.Second, workers)
	both := a.Merge(b).(*Result)
	if both.Duration != 2*time.Second || !both.Began.Equal(b.Began) || both.Elapsed != 2*time.Second || both.Bytes != 800 || both.High != 1000 ||
		both.Effective != 3.2 || both.Requests != 20 || both.Samples != 4 {
		t.Errorf("%+v", both)
	}
	if d := cmp.Diff([]Line{{"f@a.lua:3", 0.375, 300, 3}, {"f@a.lua:7", 0.375, 300, 3}, {"(outside of Lua)", 0.25, 200, 2}}, both.Lines); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Of(run(5, 3), time.Second, workers), a); d != "" {
		t.Error(d)
	}
}
