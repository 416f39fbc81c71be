package profiles

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/evidence/sleeps"
	"github.com/moonlap/moonlap/internal/evidence/turns"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestProfileTimes: the page says where the time went, what blocked, which turns were long, and what is not known.
func TestProfileTimes(t *testing.T) {
	const second = time.Second
	s := &profile.Profile{
		Head: profile.Head{PIDs: []int{7}, Mode: "stalls", By: "ebpf", Duration: time.Second, Elapsed: time.Second, Hz: 99},
		Evidence: evidence.Set{
			sleeps.Name: &sleeps.Result{Times: sleeps.Times{Elapsed: second, Unknown: second / 10, Spent: probe.Spent{
				Computed: second / 10, Idle: second / 2, Slept: second / 5, Queued: second / 10, Sleeps: 5000, Unseen: 1000, UnseenFor: second / 100}},
				Blocks: []sleeps.Block{
					{Line: "f@a.lua:3", Called: "os.execute", Call: "wait4", Cause: "a program", URI: "/x\x1b[31m", Phase: "content", Count: 1200, Total: 9e8, Longest: 1e8, Advice: "use ngx.pipe"},
					{Called: "pread", Call: "pread64", Cause: "the disk", Count: 1, Total: 1e6, Longest: 1e6},
				}},
			turns.Name: &turns.Result{Threshold: 5e6, P999: 6e6, Lengths: probe.Durations{Count: 1234, Median: 20e3, P99: 5e6, Longest: 7e6}, Stalls: []turns.Stall{
				{PID: 7, Start: 25e7, Length: 7e6, Computed: 1e6, Slept: 5e6, Queued: 1e6, Events: 3, Samples: 2,
					Lines: []evidence.Share{{Name: "f@a.lua:3 os.execute", Share: 0.9}}, URIs: []evidence.Share{{Name: "/x", Share: 1}}},
				{PID: 7, Start: 5e8, Length: 5e6, Computed: 5e6},
			}},
			locks.Name: &locks.Result{Duty: probe.Duty{Elapsed: 2 * time.Second, Probed: time.Second, Budget: 0.01}},
			locks.InSamples: &locks.Waits{Of: 10, Lines: []locks.Wait{
				{Zone: "cats", Line: "g@a.lua:9", Called: "ngx_shmtx_lock", Share: 0.3, Asleep: 0.1, Samples: 3}}},
		},
	}
	page := func() string {
		t.Helper()
		var b bytes.Buffer
		if err := Draw(&b, s, "", ui.Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := page()
	for _, want := range []string{
		"computed 10 %", "waited for events 50 %", "was blocked 20 %", "waited for a processor 10 %", "10 % of the time: the worker had ended",
		"1,000 of 5,000 sleeps (10.0 ms), without stacks", "900 ms    100 ms   1,200  f@a.lua:3 → os.execute · a program (wait4) · /x", "use ngx.pipe",
		"pread · the disk (pread64)", "1,234 · median 20.0 µs", "longest 7.00 ms", "turns of 5.00 ms and more: 2", "0.25 s", "f@a.lua:3 os.execute 90 % · /x",
		"no sample fell into it", "12.0 ms in all", "30 %      20 %     10 %  cats · g@a.lua:9 → ngx_shmtx_lock",
		"none was taken in 1.00 s of probing",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b[31m") {
		t.Error("a URI has written to the terminal")
	}
	s.Evidence[turns.Name] = &turns.Result{Threshold: 5e6}
	if got := page(); !strings.Contains(got, "No turn was seen") || strings.Contains(got, "in all, in which") {
		t.Error(got)
	}
}
