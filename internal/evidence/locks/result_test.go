package locks

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/metrics"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/ui"
)

// timed is what an interval of a second of one worker has.
func timed(probed time.Duration, zone string, waits ...time.Duration) *Result {
	r := Result{Duty: probe.Duty{Elapsed: time.Second, Probed: probed, Budget: 0.01, Bursts: 1}, Taken: len(waits), Each: time.Microsecond, Workers: 1}
	for _, w := range waits {
		r.add(Zone{Zone: zone, Waits: probe.Durations{}.Add(w), Holds: probe.Durations{}.Add(2 * w)})
	}
	since := r.since(Result{})
	return &since
}

func merged(all ...*Result) *Result {
	both := evidence.Result(&Result{})
	for _, r := range all {
		both = both.Merge(r)
	}
	return both.(*Result)
}

// TestMerge: rates are of the time that was probed, and of all workers, those included that were not; what is merged stays as it is.
func TestMerge(t *testing.T) {
	waits := []time.Duration{time.Microsecond, 2 * time.Microsecond, time.Millisecond, time.Millisecond}
	a, b := timed(100*time.Millisecond, "cats", waits...), timed(400*time.Millisecond, "cats", waits...)
	before := timed(100*time.Millisecond, "cats", waits...)
	got := merged(a, b, timed(500*time.Millisecond, "dogs", waits[0]), timed(0, ""))
	if got.Probed != time.Second || got.Elapsed != 4*time.Second || got.Bursts != 4 || got.Budget != 0.01 || got.Cost != 9*time.Microsecond || len(got.Zones) != 2 {
		t.Fatalf("%+v", got)
	}
	const perSecond = (4/0.1 + 4/0.4) * 4 / 3
	cats, dogs := got.Zones[0], got.Zones[1]
	if cats.Zone != "cats" || cats.Rate < perSecond-0.01 || cats.Rate > perSecond+0.01 || cats.Waits.Count != 8 || cats.Holds.P99 < 1_900_000 {
		t.Errorf("%+v", cats)
	}
	if dogs.Zone != "dogs" || dogs.Waits.Count != 1 || dogs.Waits.Total != 1000 {
		t.Errorf("%+v", dogs)
	}
	if got.AtLeast() {
		t.Error("9 µs of a second slowed the workers down")
	}
	if !timed(10*time.Microsecond, "cats", waits...).AtLeast() {
		t.Error("4 of 10 µs were timing")
	}
	if diff := cmp.Diff(before, a); diff != "" {
		t.Errorf("the first has changed: %s", diff)
	}
	none := merged(timed(0, ""))
	if kept, err := json.Marshal(none); err != nil || none.Probed != 0 || len(none.Zones) != 0 || strings.Contains(string(kept), "null") {
		t.Errorf("%s %v", kept, err)
	}
}

// TestText: it is told what was timed, and what it cost; and what is the user's does not reach the terminal as it is.
func TestText(t *testing.T) {
	evil := "cats\x1b[31m"
	full := timed(500*time.Millisecond, evil, 500, 5*time.Microsecond, 7*time.Millisecond)
	full.Cost, full.Bursts = 20*time.Millisecond, 3
	for want, r := range map[string]*Result{
		"not timed meanwhile: the budget (1 %) was spent before":                                     timed(0, ""),
		"none was taken in 500 ms of probing, of 1.00 s":                                             timed(500*time.Millisecond, ""),
		"3 locks were taken in 500 ms of probing, of 1.00 s. The probe adds at most 1.00 µs to each": full,
		"at most 2 % of the workers' time (--budget 1 %)":                                            full,
		"more than the budget":          full,
		"attached in 3 bursts":          full,
		"cats  waits     6.00  4.99 µs": full,
		"7.00 ms  1.4 %":                full,
		"holds":                         full,
		"timed of nginx 7":              full,
		"1 lock was taken":              timed(time.Second, "cats", time.Second),
	} {
		p := ui.NewPage(ui.Options{Width: 200})
		r.Text(p, " of nginx 7")
		if got := p.String(); !strings.Contains(got, want) || strings.Contains(got, "\x1b") {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestMetrics: histograms of all workers, in one family for each.
func TestMetrics(t *testing.T) {
	var p metrics.Page
	const evil = "a\"b"
	merged(timed(time.Second, evil, 500, time.Millisecond), timed(time.Second, evil, time.Hour), timed(time.Second, evil, 2*time.Microsecond)).Metrics(&p, "master", "1")
	timed(time.Second, "cats", 500).Metrics(&p, "master", "2")
	var b strings.Builder
	p.WriteTo(&b)
	for _, want := range []string{
		`locks_probed_seconds_total{master="1"} 3`, `locks_cost_seconds_total{master="1"} 4e-06`,
		`lock_wait_seconds_count{master="1",zone="a\"b"} 4`, `lock_wait_seconds_bucket{master="1",zone="a\"b",le="1.024e-06"} 1`,
		`lock_wait_seconds_bucket{master="1",zone="a\"b",le="4.096e-06"} 2`, `lock_wait_seconds_bucket{master="1",zone="a\"b",le="1.073741824"} 3`,
		`lock_wait_seconds_bucket{master="1",zone="a\"b",le="+Inf"} 4`, `lock_hold_seconds_sum{master="1",zone="a\"b"} 7200.002005`,
		`lock_hold_seconds_count{master="2",zone="cats"} 1`,
	} {
		if !strings.Contains(b.String(), "\nmoonlap_"+want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "# TYPE moonlap_lock_wait_seconds histogram"); n != 1 {
		t.Errorf("its type stands %d times", n)
	}
	if !slices.IsSorted(bounds) || len(bounds) < 10 {
		t.Error(bounds)
	}
}

// TestWaits: samples are reported by zone and line; together they weigh what they did.
func TestWaits(t *testing.T) {
	one := func(zone string, line int, asleep bool) sample.Sample {
		s := sample.Sample{Lock: zone, Asleep: asleep, Lua: line > 0, Stack: []profile.Frame{{Kind: profile.C, Function: "ngx_shmtx_lock", File: "nginx"}}}
		if line > 0 {
			s.Stack = append(s.Stack, profile.Frame{Kind: profile.Lua, Function: "f", File: "/a.lua", Line: line})
		}
		return s
	}
	a := WaitsOf(sample.Series{Samples: []sample.Sample{one("cats", 3, true), one("cats", 3, false), one("", 3, false), one("dogs", 0, false)}})
	want := &Waits{Of: 4, Lines: []Wait{
		{Zone: "cats", Line: "f@a.lua:3", Called: "ngx_shmtx_lock", Share: 0.5, Asleep: 0.25, Samples: 2}, {Zone: "dogs", Called: "ngx_shmtx_lock", Share: 0.25, Samples: 1},
	}}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
	if none := WaitsOf(sample.Series{Samples: []sample.Sample{one("", 3, false)}}); none != nil {
		t.Errorf("%+v", none)
	}
	b := WaitsOf(sample.Series{Samples: []sample.Sample{one("dogs", 0, true), one("dogs", 0, false), one("dogs", 0, false), one("dogs", 0, false)}})
	both := a.Merge(b).(*Waits)
	if both.Of != 8 || both.Lines[0].Zone != "dogs" || both.Lines[0].Share != 5.0/8 || both.Lines[0].Asleep != 1.0/8 || both.Lines[0].Samples != 5 || both.Lines[1].Share != 0.25 {
		t.Errorf("%+v", both)
	}
	p := ui.NewPage(ui.Options{Width: 100})
	both.Text(p, "")
	if got := p.String(); !strings.Contains(got, "25 %      12 %     12 %  cats · f@a.lua:3 → ngx_shmtx_lock") {
		t.Error(got)
	}
}
