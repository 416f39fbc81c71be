package allocations

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

// run is two samples of a worker's allocations, in a line and outside of Lua; they began that many seconds after the first. all are
// the workers of the nginx.
func run(began int64, line int, all ...int) *Result {
	at := profile.Frame{Kind: profile.Lua, Function: "f", File: "/a.lua", FirstLine: 1, Line: line}
	r := &Result{
		Began: time.Unix(began, 0), Duration: time.Second, Duty: probe.Duty{Elapsed: time.Second, Budget: 0.01, Cost: time.Millisecond}, Bytes: 400, Low: 300, High: 500, Objects: 4,
		served: map[int]served{1: {workers: []int{2}, all: all, known: len(all) > 0, requests: 10}},
	}
	r.of([]sample.Sample{{Lua: true, Stack: []profile.Frame{at}, Bytes: 300, Objects: 3}, {Bytes: 100, Objects: 1}})
	return r
}

// TestOf: lines have the bytes that their samples represent, and requests count only where all workers of the nginx were sampled.
func TestOf(t *testing.T) {
	r := run(5, 3, 2)
	if r.Bytes != 400 || r.Samples != 2 || r.Effective != 1.6 || r.Requests != 10 {
		t.Errorf("%+v", r)
	}
	if d := cmp.Diff([]Line{{"f@a.lua:3", 0.75, 300, 3}, {"(outside of Lua)", 0.25, 100, 1}}, r.Lines); d != "" {
		t.Error(d)
	}
	for name, r := range map[string]*Result{"another worker": run(5, 3, 2, 3), "not known": run(5, 3)} {
		if r.Requests != 0 {
			t.Errorf("%s: %d requests", name, r.Requests)
		}
	}
}

// TestMerge: what both allocated, over the time from the first one's beginning to the last one's end; neither changes. Requests of
// two workers of an nginx count once, and those of two nginx twice; those of results that were kept are added up.
func TestMerge(t *testing.T) {
	a, b := run(5, 3, 2, 3), run(4, 7, 2, 3)
	b.served = map[int]served{1: {workers: []int{3}, all: []int{2, 3}, known: true, requests: 11}}
	both := a.Merge(b).(*Result)
	if both.Duration != 2*time.Second || !both.Began.Equal(b.Began) || both.Elapsed != 2*time.Second || both.Bytes != 800 || both.High != 1000 ||
		both.Effective != 3.2 || both.Requests != 11 || both.Samples != 4 {
		t.Errorf("%+v", both)
	}
	if d := cmp.Diff([]Line{{"f@a.lua:3", 0.375, 300, 3}, {"f@a.lua:7", 0.375, 300, 3}, {"(outside of Lua)", 0.25, 200, 2}}, both.Lines); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(run(5, 3, 2, 3), a, cmp.AllowUnexported(Result{}, served{})); d != "" {
		t.Error(d)
	}
	b.served = map[int]served{4: {workers: []int{5}, all: []int{5}, known: true, requests: 7}}
	if n := run(5, 3, 2).Merge(b).(*Result).Requests; n != 17 {
		t.Errorf("of two nginx: %d", n)
	}
	a.served, b.served, a.Requests, b.Requests = nil, nil, 3, 4
	if n := a.Merge(b).(*Result).Requests; n != 7 {
		t.Errorf("of kept ones: %d", n)
	}
}
