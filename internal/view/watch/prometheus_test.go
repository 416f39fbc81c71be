package watch

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/collector"
	"github.com/moonlap/moonlap/internal/evidence/dicts"
	"github.com/moonlap/moonlap/internal/evidence/requests"
	"github.com/moonlap/moonlap/internal/evidence/timers"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/record"
)

// A metric is a line of a page, as the parser below reads it.
type metric struct {
	name   string
	labels map[string]string
	value  float64
}

var (
	nameOf = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*`)
	label  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,?)`)
	unset  = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
)

// parse reads the text format as its specification has it, and refuses what Prometheus would: a family
// twice, metrics of a family that are not together, or that are not of its type, a series twice,
// buckets that are not cumulative.
func parse(page string) (metrics []metric, types map[string]string, err error) {
	types = map[string]string{}
	helped, series, family := map[string]bool{}, map[string]bool{}, ""
	if !strings.HasSuffix(page, "\n") {
		return nil, nil, fmt.Errorf("no end of line at the end")
	}
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, help, _ := strings.Cut(rest, " ")
			if helped[name] || help == "" {
				return nil, nil, fmt.Errorf("help of %s: twice, or empty", name)
			}
			helped[name] = true
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			if types[name] != "" || !helped[name] || kind != "gauge" && kind != "counter" && kind != "histogram" ||
				kind == "counter" != strings.HasSuffix(name, "_total") {
				return nil, nil, fmt.Errorf("type %q of %s", kind, name)
			}
			types[name], family = kind, name
			continue
		}
		m := metric{name: nameOf.FindString(line), labels: map[string]string{}}
		base := m.name
		if types[family] == "histogram" {
			base = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(m.name, "_bucket"), "_sum"), "_count")
		}
		if m.name == "" || base != family {
			return nil, nil, fmt.Errorf("%q stands under %s", line, family)
		}
		rest := line[len(m.name):]
		if strings.HasPrefix(rest, "{") {
			for rest = rest[1:]; !strings.HasPrefix(rest, "}"); {
				l := label.FindStringSubmatch(rest)
				if l == nil || m.labels[l[1]] != "" {
					return nil, nil, fmt.Errorf("labels of %q", line)
				}
				m.labels[l[1]] = unset.Replace(l[2])
				rest = rest[len(l[0]):]
			}
			rest = rest[1:]
		}
		if m.value, err = strconv.ParseFloat(strings.TrimPrefix(rest, " "), 64); err != nil || !strings.HasPrefix(rest, " ") {
			return nil, nil, fmt.Errorf("value of %q", line)
		}
		if key := fmt.Sprint(m.name, m.labels); series[key] {
			return nil, nil, fmt.Errorf("%q is there twice", line)
		} else {
			series[key] = true
		}
		metrics = append(metrics, m)
	}
	return metrics, types, nil
}

// find returns the value of the metric with these labels among others.
func find(metrics []metric, name string, labels ...string) float64 {
	for _, m := range metrics {
		fits := m.name == "moonlap_"+name
		for i := 0; i < len(labels); i += 2 {
			fits = fits && m.labels[labels[i]] == labels[i+1]
		}
		if fits {
			return m.value
		}
	}
	return math.NaN()
}

func snapshotOf(pid int, zone string) Snapshot {
	start := time.Unix(1000, 0)
	r := Row{Facts: Facts{
		PID: pid, Master: 1, Lua: 0.5, States: map[string]float64{"compiled": 1}, Phases: map[string]record.Interval{"access": {Estimate: 0.4, Low: 0.3, High: 0.5}},
		LuaVM:       LuaVM{Heap: 4096, GC: &GC{Threshold: 8192}, JIT: &JIT{Root: 3, Side: 2, Blacklisted: []Abort{{}}}},
		Connections: &Connections{2.5, 4, 512}, Loop: &Loop{}},
		Evidence: evidence.Set{
			requests.Name: &requests.Result{Workers: []requests.Worker{{
				PID: pid, Count: 3, Oldest: []ngxlua.InFlight{{URI: "/a", Phase: "access", Age: 1500 * time.Millisecond}, {URI: "/b"}},
			}}},
			timers.Name: &timers.Result{Workers: []timers.Worker{{PID: pid, LuaTimers: ngxlua.LuaTimers{Pending: 2}}}},
		},
	}
	r.Evidence[collector.Name] = collector.Of(pid, collector.Collections{
		Seen: 9 * time.Second, Missed: time.Second, Resolution: time.Millisecond, Cycles: 18, Allocated: 3e6, Guessed: 1e6, Lowest: 1000, Highest: 5000,
		Last: []collector.Cycle{{Length: time.Second, Marked: 4000, Left: 3000}}, Longest: collector.Step{Least: 3 * time.Millisecond, Most: 4 * time.Millisecond, Phase: 2},
	}, 25, 100)
	r.Pools = []ngxlua.Pool{{Name: zone, Size: 30, Idle: 3, Busy: 4, Waiting: 5}}
	r.usage(process.Usage{At: start}, process.Usage{At: start.Add(time.Second), CPU: 2500 * time.Millisecond, Voluntary: 9, RSS: 1 << 20})
	r.count(nil, map[process.Event]uint64{process.Cycles: 12345678901})
	r.moment.waits = []time.Duration{0, 0, 3 * time.Millisecond, 5 * time.Millisecond, time.Minute}
	r.moment.span = span{
		to:    nginx.Counters{Accepted: 7, Requests: 1 << 40, Active: 6, Reading: 1, Writing: 2, Waiting: 3},
		zones: []nginx.Zone{{Name: zone, Module: "ngx_http_lua_module", Size: 1 << 20, Capacity: 1000, Free: 10, Failed: 4}},
	}
	r.asked = evidence.Set{dicts.Name: &dicts.Result{Dicts: []dicts.Dict{{
		Zone: zone, Entries: record.Interval{Estimate: 1234.5}, Expired: record.Interval{Estimate: 17}, Bytes: record.Interval{Estimate: 1e6},
		PagesUsed: 8, PagesRead: 2, Evicted: dicts.Evicted{PerSecond: 2.5},
	}, {Zone: zone + " unknown", Unknown: "another layout"}}}}
	return newSnapshot(start, []Row{r, {Facts: Facts{PID: pid + 1, Error: "ended"}}}, func(int) ([]int, error) { return []int{pid}, nil })
}

func TestMetrics(t *testing.T) {
	var m Metrics
	m.Observe(snapshotOf(42, "cats"))
	m.Observe(snapshotOf(42, "cats"))
	var page strings.Builder
	if _, err := m.WriteTo(&page); err != nil {
		t.Fatal(err)
	}
	metrics, types, err := parse(page.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, &page)
	}
	for _, want := range []struct {
		name   string
		value  float64
		labels []string
	}{
		{"watched_workers", 1, nil},
		{"unwatched_workers", 1, nil},
		{"worker_cpu_seconds_total", 2.5, []string{"pid", "42"}},
		{"worker_context_switches_total", 9, []string{"kind", "voluntary"}},
		{"worker_events_total", 12345678901, []string{"event", "cycles"}},
		{"worker_resident_memory_bytes", 1 << 20, nil},
		{"worker_phase_ratio", 0.4, []string{"phase", "access"}},
		{"worker_lua_gc_cycles_total", 36, []string{"pid", "42"}}, // of two intervals
		{"worker_lua_allocated_bytes_total", 6e6, nil},
		{"worker_lua_gc_ratio", 0.25, nil},
		{"worker_lua_heap_lowest_bytes", 1000, nil},
		{"worker_lua_heap_highest_bytes", 5000, nil},
		{"worker_lua_gc_longest_step_seconds", 0.003, nil},
		{"worker_lua_gc_last_cycle_seconds", 1, nil},
		{"worker_jit_traces", 2, []string{"kind", "side"}},
		{"worker_jit_blacklisted", 1, nil},
		{"worker_connections", 2.5, nil},
		{"worker_requests_in_flight", 1, []string{"phase", "access"}},
		{"worker_requests_in_flight", 2, []string{"phase", "none"}},
		{"worker_oldest_request_seconds", 1.5, nil},
		{"worker_event_loop_wait_seconds_bucket", 4, []string{"le", "0"}},
		{"worker_event_loop_wait_seconds_bucket", 4, []string{"le", "0.002"}},
		{"worker_event_loop_wait_seconds_bucket", 8, []string{"le", "0.005"}},
		{"worker_event_loop_wait_seconds_bucket", 8, []string{"le", "10"}},
		{"worker_event_loop_wait_seconds_bucket", 10, []string{"le", "+Inf"}},
		{"worker_event_loop_wait_seconds_count", 10, nil},
		{"worker_event_loop_wait_seconds_sum", 120.016, nil},
		{"worker_timers", 2, []string{"state", "pending"}},
		{"worker_cosocket_pool_connections", 4, []string{"pool", "cats", "state", "busy"}},
		{"worker_cosocket_pool_connections", 5, []string{"pool", "cats", "state", "waiting"}},
		{"worker_cosocket_pool_size", 30, []string{"pid", "42"}},
		{"nginx_requests_total", 1 << 40, []string{"master", "1"}},
		{"nginx_connections", 3, []string{"state", "waiting"}},
		{"zone_free_bytes", 10, []string{"zone", "cats"}},
		{"zone_failed_allocations_total", 4, nil},
		{"dict_entries", 1234.5, []string{"master", "1", "zone", "cats"}},
		{"dict_expired_entries", 17, []string{"zone", "cats"}},
		{"dict_entry_bytes", 1e6, []string{"zone", "cats"}},
		{"dict_read_ratio", 0.25, []string{"zone", "cats"}},
		{"dict_evictions_per_second", 2.5, []string{"zone", "cats"}},
	} {
		if got := find(metrics, want.name, want.labels...); math.Abs(got-want.value) > 1e-9*want.value || math.IsNaN(got) {
			t.Errorf("%s %v is %v, want %v", want.name, want.labels, got, want.value)
		}
	}
	if got := find(metrics, "dict_entries", "zone", "cats unknown"); !math.IsNaN(got) {
		t.Errorf("what is not known is %v", got)
	}
	if len(types) < 30 {
		t.Errorf("%d families", len(types))
	}
	// A worker that ended is forgotten, and so is its histogram.
	m.Observe(snapshotOf(43, "cats"))
	page.Reset()
	m.WriteTo(&page)
	if strings.Contains(page.String(), `"42"`) || !strings.Contains(page.String(), `"43"`) {
		t.Errorf("worker 42 has ended, 43 is new:\n%s", &page)
	}
}

// TestMetricsLabels: names may be anything, and the page stays one that can be read.
func TestMetricsLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := string(rapid.SliceOfN(rapid.SampledFrom([]byte("a\"\\\n\xff{},= é")), 1, 12).Draw(t, "name"))
		var m Metrics
		m.Observe(snapshotOf(42, name))
		var page strings.Builder
		m.WriteTo(&page)
		metrics, _, err := parse(page.String())
		if err != nil {
			t.Fatal(err)
		}
		if v := find(metrics, "zone_size_bytes", "zone", strings.ToValidUTF8(name, "\uFFFD")); v != 1<<20 {
			t.Fatalf("zone %q was not found", name)
		}
	})
}

// TestMetricsBefore the first interval has ended: a page without workers.
func TestMetricsBefore(t *testing.T) {
	var page strings.Builder
	(&Metrics{}).WriteTo(&page)
	if _, _, err := parse(page.String()); err != nil {
		t.Error(err)
	}
}
