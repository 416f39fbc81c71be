package profiles

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestKeptEvidence: a kept profile shows the evidence that its run showed, word by word; a difference shows that of both sides.
func TestKeptEvidence(t *testing.T) {
	waits := probe.Durations{}.Add(time.Millisecond).Add(3 * time.Microsecond)
	run := evidence.Set{
		locks.InSamples: &locks.Waits{Of: 10, Lines: []locks.Wait{{Zone: "cats", Line: "f@a.lua:3", Called: "incr", Share: 0.3, Asleep: 0.1, Samples: 3}}},
		locks.Name: &locks.Result{
			Duty:  probe.Duty{Elapsed: 2 * time.Second, Probed: time.Second, Cost: time.Millisecond, Budget: 0.01, Bursts: 3},
			Taken: 2, Each: 2600, Workers: 1, Timed: 1, Zones: []locks.Zone{{Zone: "cats", Rate: 2, Waits: waits, Holds: waits}},
		},
	}
	p := &profile.Profile{Head: profile.Head{Title: "nginx worker 1", Start: time.Unix(0, 0), Duration: time.Second}, Evidence: run}
	p.Add([]profile.Frame{{Function: "f", File: "a.lua", Line: 3, Kind: profile.Lua}}, nil, 10)
	var file bytes.Buffer
	if err := p.WriteJSON(&file); err != nil {
		t.Fatal(err)
	}
	kept, err := profile.ReadJSON(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var page, diff bytes.Buffer
	if err := Draw(&page, kept, "", ui.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if err := DrawDiff(&diff, &profile.Diff{Before: kept, After: kept}, "", ui.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for kind, result := range run {
		for where, whose := range map[*bytes.Buffer][]string{&page: {""}, &diff: {", before", ", after"}} {
			for _, w := range whose {
				shown := ui.NewPage(ui.Options{Width: 100})
				result.Text(shown, w)
				if !strings.Contains(where.String(), shown.String()) {
					t.Errorf("no %s as\n%s\nin\n%s", kind, shown, where)
				}
			}
		}
	}
	if _, err := profile.ReadJSON(bytes.Replace(file.Bytes(), []byte(`"lock_waits"`), []byte(`"chess"`), 1)); err == nil || !strings.Contains(err.Error(), `"chess"`) {
		t.Errorf("an unknown kind: %v", err)
	}
}

// TestEarlier: files that earlier versions kept are drawn with what their runs found.
func TestEarlier(t *testing.T) {
	for file, wants := range map[string][]string{
		"profile.json": {
			"moonlap profile · nginx worker 8472, stalls", "449 ms   63.4 ms      11  function@init_worker_by_lua(nginx.conf:6):1", "use ngx.pipe",
			"turns    11 · median 45.1 ms · 99 % 85.9 ms · 99.9 % 85.9 ms · longest 85.9 ms", "turns of 10.0 ms and more: 11",
			"2.42 s   85.9 ms   2.37 ms   73.1 ms   10.5 ms       0\n            function@init_worker_by_lua(nginx.conf:6):1 os.execute 94 %",
			"585 ms in all", "cats  waits      734", "calls that end traces", "Lua lines\n  100 %",
		},
		"capture.json": {
			"what     The worker was put to sleep for 31ms.", "47.2 ms before · 31.5 ms of it · 2.17 s after", "by 2 samples in it and 0 before",
			"31.5 ms   31.5 ms       1", "302 kB to 302 kB", "content  GET /waits",
		},
	} {
		data, err := os.ReadFile("testdata/earlier/" + file)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := profile.ReadJSON(data)
		if err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		if err := Draw(&page, kept, "", ui.Options{Width: 100}); err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(page.String(), want) {
				t.Errorf("%s: no %q in\n%s", file, want, page.String())
			}
		}
	}
}
