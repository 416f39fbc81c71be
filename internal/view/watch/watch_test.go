package watch

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/record"
)

func TestRow(t *testing.T) {
	start := time.Unix(1000, 0)
	before := process.Usage{At: start, CPU: time.Second, Wait: time.Minute, Voluntary: 10, Involuntary: 5, MajorFaults: 7, Read: 1000, Write: 50, DiskRead: 1}
	after := process.Usage{
		At: start.Add(2 * time.Second), CPU: 1500 * time.Millisecond, Wait: time.Minute + 200*time.Millisecond,
		Voluntary: 30, Involuntary: 5, MajorFaults: 7, Read: 5000, Write: 250, DiskRead: 5, RSS: 1 << 20, Sockets: 3,
	}
	got := Row{Facts: Facts{PID: 42}}
	got.usage(before, after)
	got.count(map[process.Event]uint64{process.Migrations: 3}, map[process.Event]uint64{process.Migrations: 7})
	got.states(readings{
		Count: 200, Lua: 50,
		States:      map[luajit.State]int{luajit.Compiled: 40, luajit.InC: 10},
		Requests:    map[string]int{"/b": 20, "/a": 20, "/c": 5},
		Phases:      map[string]int{"access": 50},
		Connections: use{Connections: Connections{2.5, 4, 512}},
		Loop:        turns{Err: errors.New("no clock")},
	})
	want := Row{Facts: Facts{
		PID: 42, CPU: 0.25, Wait: 0.1, Lua: 0.25, States: map[string]float64{"compiled": 0.8, "C": 0.2}, Busiest: "/a",
		Phases: map[string]record.Interval{"access": {Estimate: 0.25, Low: 0.1917, High: 0.3159}}, // Clopper & Pearson's, for 50 of 200
		RSS:    1 << 20, Sockets: 3, Voluntary: 10, Read: 2000, Write: 100, DiskRead: 2,
		Events:      map[process.Event]float64{process.Migrations: 2},
		Connections: &Connections{2.5, 4, 512},
		Unknown:     []string{"event loop: no clock"},
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Row{}), cmpopts.EquateApprox(0, 1e-4)); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	if got.StateOf() != "compiled" {
		t.Errorf("most often %q", got.StateOf())
	}
}

// TestRowOfNothing: no time, no readings, counters that run backwards because the process is another.
func TestRowOfNothing(t *testing.T) {
	u := process.Usage{At: time.Unix(1000, 0), Voluntary: 10}
	var got Row
	got.usage(u, process.Usage{At: u.At})
	got.count(nil, map[process.Event]uint64{process.Migrations: 1})
	got.states(readings{})
	if got.CPU != 0 || got.Lua != 0 || got.Voluntary != 0 || got.StateOf() != "" || got.Busiest != "" || got.Loop != nil {
		t.Errorf("%+v", got)
	}
}

func TestLoopOf(t *testing.T) {
	var waits []time.Duration
	for i := range 100 {
		waits = append(waits, time.Duration(99-i)*time.Millisecond)
	}
	got := *loopOf(turns{Wait: waits, Turns: 7})
	want := Loop{P50: 50 * time.Millisecond, P90: 90 * time.Millisecond, P99: 99 * time.Millisecond, Most: 99 * time.Millisecond, Samples: 100, Turns: 7}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestMasters: what two workers of one nginx took is divided by the requests of both; where not all
// workers are watched it is not divided.
func TestMasters(t *testing.T) {
	start := time.Unix(1000, 0)
	row := func(pid, master int, cpu time.Duration, requests uint64) Row {
		r := Row{Facts: Facts{PID: pid, Master: master}}
		r.usage(process.Usage{At: start, CPU: time.Second}, process.Usage{At: start.Add(2 * time.Second), CPU: time.Second + cpu, Read: 300})
		r.count(map[process.Event]uint64{process.ContextSwitches: 10}, map[process.Event]uint64{process.ContextSwitches: 60})
		r.moment.span = span{from: nginx.Counters{Requests: 5, Accepted: 1}, to: nginx.Counters{Requests: 5 + requests, Accepted: 3, Active: 2}}
		return r
	}
	workers := func(master int) ([]int, error) {
		return map[int][]int{1: {10, 11}, 2: {20, 21}}[master], nil
	}
	silent := row(30, 3, 0, 0)
	silent.moment.span = span{err: nginx.ErrNoCounters}
	got := masters([]Row{row(10, 1, time.Second, 100), row(20, 2, time.Second, 50), row(11, 1, time.Second, 100), {Facts: Facts{PID: 12, Master: 1, Error: "ended"}}, silent}, workers)
	want := []Master{
		{Shared: Shared{
			PID: 1, Watched: 2, All: true, Counters: &nginx.Counters{Requests: 105, Accepted: 3, Active: 2}, Accepted: 1, Requests: 50,
			PerRequest: &PerRequest{CPU: 2e7, Read: 6, Events: map[process.Event]float64{process.ContextSwitches: 1}},
		}},
		{Shared: Shared{PID: 2, Watched: 1, Counters: &nginx.Counters{Requests: 55, Accepted: 3, Active: 2}, Accepted: 1, Requests: 25}},
		{Shared: Shared{PID: 3, Watched: 1, All: true, Unknown: nginx.ErrNoCounters.Error()}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
}

// TestRemember: the last intervals are kept, as shares of their time.
func TestRemember(t *testing.T) {
	var w watcher
	var got []Recent
	for i := range mostRecent + 3 {
		got = w.remember(Row{Facts: Facts{Lua: 0.5, States: map[string]float64{"compiled": 0.5}, LuaVM: LuaVM{Heap: uint64(i)}}})
	}
	if len(got) != mostRecent || got[0].Heap != 3 || got[mostRecent-1].Heap != mostRecent+2 || got[0].States["compiled"] != 0.25 {
		t.Errorf("%+v", got)
	}
}
