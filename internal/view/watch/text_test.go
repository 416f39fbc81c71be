package watch

import (
	"errors"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/collector"
	"github.com/moonlap/moonlap/internal/evidence/dicts"
	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/evidence/requests"
	"github.com/moonlap/moonlap/internal/evidence/timers"
	"github.com/moonlap/moonlap/internal/host"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// seen is a snapshot of a worker that does something of everything, and of one that ended.
func seen() Snapshot {
	next, over := 59*time.Second, -time.Second
	at := profile.Frame{Kind: profile.Lua, Function: "_M.sleep", File: "/srv/app.lua", Line: 11}
	inFlight := []ngxlua.InFlight{
		{Method: "GET", URI: "/slow", Age: 2500 * time.Millisecond, Phase: "access", Lua: &at, Waits: "ngx.sleep"},
		{Method: "POST", URI: "/busy", Age: time.Millisecond, Phase: "content", Running: true},
		{Method: "GET", URI: "/\x1b[2Jevil" + strings.Repeat("/long", 50)},
		{Phase: "timer", Lua: &at},
		{Method: "GET", URI: "/proxied", Age: 2 * time.Millisecond, Tries: []ngxlua.Try{{Peer: "127.0.0.1:81", Status: 502, Total: &over}, {Peer: "unix:/b\x1b[2J", Connect: &over}}},
		{}, {}, {},
	}
	r := Row{Facts: Facts{
		PID: 42, Master: 40, CPU: 0.36, Wait: 0.62, Lua: 0.5, States: map[string]float64{"compiled": 1}, Busiest: "/busy",
		Phases: map[string]record.Interval{"access": {Estimate: 0.1, Low: 0.05, High: 0.2}, "content": {Estimate: 0.4, Low: 0.3, High: 0.5}},
		RSS:    6_580_000, Sockets: 6, Voluntary: 6534, Read: 7e6,
		LuaVM: LuaVM{Heap: 367_000, GC: &GC{Threshold: 500_000}, Traces: 20, JIT: &JIT{Blacklisted: []Abort{
			{Function: "bad", File: "/srv/app.lua", Line: 4, Loop: true, Reason: "NYI: bytecode"}, {File: "/srv/app.lua", Line: 9},
		}, Aborts: []Abort{{Function: "main chunk", File: "/srv/app.lua", Line: 12, Loop: true, Reason: "inner loop in root trace"}}}},
		Connections: &Connections{Average: 4.25, Most: 9, Limit: 512},
		Loop:        &Loop{P50: 0, P99: 12 * time.Millisecond, Most: 1500 * time.Millisecond, Samples: 200},
		Unknown:     []string{"compiler: no idea"},
		Recent: []Recent{
			{Heap: 183_500}, {States: map[string]float64{"interpreted": 0.01, "recording": 0.5, "assembling": 0.5}, Heap: 275_250},
			{States: map[string]float64{"compiled": 0.5}, Heap: 367_000},
		},
		Pools: []ngxlua.Pool{{Name: "redis:6379", Size: 30, Idle: 3, Busy: 4}, {Name: "db\x1b[2J", Size: 2, Busy: 2, Waiting: 7}},
	},
		Evidence: evidence.Set{
			collector.Name: &collector.Result{Workers: []collector.Worker{{
				PID: 42, Share: record.Interval{Estimate: 0.25, Low: 0.17, High: 0.35}, Cycles: 2, Last: []collector.Cycle{{Length: 40 * time.Millisecond, Marked: 4e6, Left: 3e6}},
				Lowest: 3e6, Highest: 5e6, Allocated: record.Interval{Estimate: 3e5}, Longest: &collector.Step{Least: 3 * time.Millisecond, Most: 4 * time.Millisecond}, Missed: 0.2,
			}}},
			requests.Name: &requests.Result{Workers: []requests.Worker{{PID: 42, Count: 207, Oldest: inFlight}}},
			timers.Name:   &timers.Result{Workers: []timers.Worker{{PID: 42, LuaTimers: ngxlua.LuaTimers{Pending: 3, Next: &next}}}},
		},
	}
	return Snapshot{
		Workers: []Row{r, Failed(43, errors.New("worker 43 ended meanwhile"))},
		Masters: []Master{{Shared: Shared{
			PID: 40, Requests: 1234, Counters: &nginx.Counters{Active: 6, Reading: 1, Writing: 2, Waiting: 3},
			PerRequest: &PerRequest{CPU: 12_300, Events: map[process.Event]float64{process.ContextSwitches: 0.8}},
			Zones: []nginx.Zone{
				{Name: "empty", Size: 1 << 20, Capacity: 1 << 20, Free: 1 << 20, Module: "ngx_http_lua_module"},
				{Name: "full", Size: 200_000, Capacity: 200_000, Pieces: 378, Failed: 624, Module: "ngx_http_lua_module"},
			}},
			Evidence: evidence.Set{
				locks.Name: &locks.Result{
					Duty: probe.Duty{Elapsed: time.Second, Probed: 125 * time.Millisecond, Bursts: 3, Cost: 9 * time.Millisecond, Budget: 0.01}, Taken: 1003, Each: 9000,
					Zones: []locks.Zone{
						{Zone: "empty", Rate: 12, Waits: probe.Durations{Count: 3, Median: 512, P99: 900, Longest: 1000, Total: 2412}},
						{Zone: "full\x1b[2J", Rate: 4567, Waits: probe.Durations{Count: 1000, Median: 512, P99: 20_000, Longest: 3_000_000, Total: 9_000_000},
							Holds: probe.Durations{Count: 1000, Median: 4_000, P99: 30_000, Longest: 400_000, Total: 4_000_000}},
					},
				},
				dicts.Name: &dicts.Result{Dicts: []dicts.Dict{
					{Zone: "empty"},
					{
						Zone: "full", Entries: record.Interval{Estimate: 924881, Low: 924659, High: 925102}, Expired: record.Interval{Estimate: 12, Low: 12, High: 12},
						Bytes: record.Interval{Estimate: 182e6}, PagesUsed: 60000, PagesRead: 1200, NoRoom: 1500,
						Evicted: dicts.Evicted{PerSecond: 1400, AtLeast: true}, Next: &nginx.Entry{Key: "user:\x1b[2J7", Left: &next},
						Largest: []nginx.Entry{
							{Key: "page\n1", Type: "string", Bytes: 10_000}, {Key: "queue", Type: "list", Bytes: 17, Left: &next}, {Key: "old", Type: "number", Bytes: 8, Left: &over},
						},
					},
					{Zone: "odd", Unknown: "this nginx's layout is unknown: the dictionary"},
				}},
			},
		}},
		Head: Head{Missing: map[process.Event]string{process.Cycles: "no such counter on this machine", process.Branches: "no such counter on this machine"}},
	}
}

func TestWatch(t *testing.T) {
	var b strings.Builder
	if err := Draw(&b, seen(), time.Date(2026, 1, 2, 17, 35, 30, 0, time.UTC), ui.Options{Width: 140}); err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.FieldsFunc(b.String(), func(c rune) bool { return c == ' ' }), " ")
	at := 0
	for _, want := range []string{ // in this order
		"moonlap watch · 17:35:30",
		"! worker 42: an event waited 1.50 s for the event loop",
		"→ moonlap profile --pid 42 --stalls 50ms",
		"! worker 42: 7 connects wait for the cosocket pool db, which is full",
		"! worker 42: for 62 % of the time it wanted to run, and others had the processor",
		"! worker 42: a request is 2.50 s old: GET /slow",
		"→ moonlap explain --pid 42",
		"and 2 more",
		"42 36 % 62 % 50 % compiled 367 kB 500 kB 20 6.58 MB 6 6534 7.00 MB",
		"42 207 2.50 s 4.2 9 512 0 ms 12 ms 1.50 s 3 59.0 s",
		"nginx 40 · 1.23 k requests/s · 6 connections of clients: 1 reading, 2 writing, 3 waiting",
		"a request took 12.3 µs CPU · 0.80 context switches",
		"what Lua did, of the interval and of the 2 before",
		"worker heap compiled interpreted compiler",
		"42 367 kB ▄▆█ 50 % ··▄ 0 % ·▁· 0 % ·█·",
		"garbage collection",
		"worker allocates cycles/s collects longest step last cycle freed heap",
		"42 300 kB/s ≥ 2.0 25 % (17–35) 3.00 ms–4.00 ms 40.0 ms 4.00 MB → 3.00 MB 3.00 MB–5.00 MB",
		"requests in flight",
		" 2.50 s access GET /slow",
		"_M.sleep app.lua:11 in ngx.sleep",
		"2.00 ms GET /proxied unix:/b, answer; try 2 after 502",
		"runs",
		"and 202 more",
		"cosocket pools",
		"2 0 2 7 42\n redis:6379 4 3 30 0 42",
		"shared memory",
		"full 100 %",
		"empty 0 %",
		"dict entries expired evicted /s no room /s size read evicted next",
		"full 924881 ± 222 12 ≥ 1.40 k 1.50 k 182 MB 2 % user:7 (for 59.0 s)",
		"empty 0 0 0 0 0 B all –",
		"odd – – – – – – –",
		"largest entries of full, of those that were read",
		"10.0 kB string – page",
		"17 elements list 59.0 s queue",
		"8 B number expired old",
		"not known: this nginx's layout is unknown: the dictionary",
		"locks of shared memory",
		"zone taken/s median 99 % longest share",
		"full waits 4.57 k < 1 µs 20.0 µs 3.00 ms 7.2 %", "holds 4.00 µs 30.0 µs 400 µs 3.2 %",
		"empty waits 12.0 < 1 µs < 1 µs < 1 µs 0 %", "holds – – – –",
		"1,003 locks were taken in 125 ms of probing, of 1.00 s.", "at most 0.9 % of",
		"not compiled in worker 42",
		"\n bad app.lua:4, a loop: NYI: bytecode; blacklisted",
		"\n app.lua:9: LuaJIT has forgotten why; blacklisted",
		"\n main chunk app.lua:12, a loop: inner loop in root trace; may be tried again",
		"worker 42 ran Lua mostly for /busy; of the time in content 40 % (30–50), access 10 % (5–20)",
		"worker 42: not known: compiler: no idea",
		"worker 43 ended meanwhile",
		"not counted: cycles, branches: no such counter on this machine",
	} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or too early:\n%s", want, page)
		}
		at += i
	}
	if strings.Contains(page, "\x1b") {
		t.Errorf("a URI reaches the terminal:\n%q", page)
	}
}

// TestWatchEvidence: of several nginx, what was observed is reported of each.
func TestWatchEvidence(t *testing.T) {
	var b strings.Builder
	timed := evidence.Set{locks.Name: &locks.Result{Duty: probe.Duty{Budget: 0.01}}}
	err := Draw(&b, Snapshot{Masters: []Master{{Shared: Shared{PID: 7}}, {Shared: Shared{PID: 8}, Evidence: timed}}}, time.Now(), ui.Options{Width: 200})
	if page := b.String(); err != nil || !strings.Contains(page, "not timed meanwhile") || !strings.Contains(page, "of nginx 8") || strings.Contains(page, "nginx 7") {
		t.Errorf("%q: %v", page, err)
	}
}

// TestWatchFits: no line is longer than the terminal is wide, else it could not be drawn over.
func TestWatchFits(t *testing.T) {
	for _, width := range []int{60, 80, 100, 120, 240} {
		var b strings.Builder
		if err := Draw(&b, seen(), time.Now(), ui.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := lipgloss.Width(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns in a terminal of %d: %s", n, width, line)
			}
		}
		page := strings.Join(strings.Fields(b.String()), " ")
		tables, _, _ := strings.Cut(page, "no room for ")
		for _, column := range []string{"switches/s", "I/O /s", "timers", "next due"} {
			if shown, told := strings.Contains(tables, column), strings.Contains(page[len(tables):], column); shown == told {
				t.Errorf("in %d columns, %s is shown: %t, told to be left out: %t", width, column, shown, told)
			}
		}
	}
}

// TestASCII: where the terminal knows ASCII alone, nothing else is written.
func TestASCII(t *testing.T) {
	var b strings.Builder
	if err := Draw(&b, seen(), time.Now(), ui.Options{ASCII: true, Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if r > 127 {
			t.Errorf("%q", r)
		}
	}
}

// TestWatchTellsOfTheHost: a machine that something slows stands out, with whose doing it may be; a quiet one does not.
func TestWatchTellsOfTheHost(t *testing.T) {
	of := func(h *Host) string {
		s := seen()
		s.Host = h
		var b strings.Builder
		if err := Draw(&b, s, time.Unix(0, 0), ui.Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	slow := host.Speed{Timings: 200, Quiet: 0.2, Slower: 0.35}
	if text := of(&Host{Speed: slow, Busy: 0.1}); !strings.Contains(text, "slowed by 35 % for 80 % of the interval by a neighbour on the host") {
		t.Error(text)
	}
	if text := of(&Host{Speed: slow, Busy: 0.9}); !strings.Contains(text, "by its own load on shared cores (processors 90 % busy)") {
		t.Error(text)
	}
	// What befalls requests is first; the machine is the last of what is shown, not what is left out.
	text := of(&Host{Speed: slow, Busy: 0.9})
	if stall := strings.Index(text, "an event waited "); stall < 0 || stall > strings.Index(text, "slowed by") {
		t.Errorf("the machine stands before a stall:\n%s", text)
	}
	for _, h := range []*Host{nil, {Speed: host.Speed{Timings: 200, Quiet: 0.95, Slower: 0.4}}} {
		if text := of(h); strings.Contains(text, "slowed by") {
			t.Errorf("%+v: %s", h, text)
		}
	}
}
