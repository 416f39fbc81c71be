package view

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/sleeps"
	"github.com/moonlap/moonlap/internal/evidence/timers"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/view/capture"
	"github.com/moonlap/moonlap/internal/view/explain"
	"github.com/moonlap/moonlap/internal/view/profiles"
	"github.com/moonlap/moonlap/internal/view/watch"
)

// TestDraw: what profile, explain, watch and captures wrote is drawn as their runs showed it, word by word.
func TestDraw(t *testing.T) {
	opt := ui.Options{Width: 100}
	handler := profile.Frame{Kind: profile.Lua, Function: "handler", File: "/srv/app.lua", FirstLine: 20, Line: 24}
	one := sample.Sample{
		Lua: true, Asleep: true, Phase: "access", Request: ngxlua.Request{Method: "GET", URI: "/one"}, Stack: []profile.Frame{{Kind: profile.C, Function: "wait4", File: "libc"}, handler},
		Sleep: &sample.Sleep{Call: "wait4", Cause: sample.Program, For: time.Second},
	}
	series := sample.Series{Samples: []sample.Sample{one, one}, Elapsed: 2 * time.Second, Used: time.Second, Paused: time.Millisecond}
	explained := explain.Explain(series)
	explained.PIDs, explained.Unknown = []int{7}, []string{"timers: gone"}
	series.Timed = true
	sampled, _ := series.Profile(sample.OffCPU, profile.Time)
	sampled.PIDs, sampled.By = []int{7}, "ebpf"
	sampled.Evidence[sleeps.Name] = sleeps.Of(series)
	seen := watch.Snapshot{
		Schema: record.Schema, Kind: "watch", Head: watch.Head{At: time.Unix(2e9, 0).UTC()},
		Workers: []watch.Row{{
			Facts:    watch.Facts{PID: 7, Lua: 0.5, States: map[string]float64{"C": 1}, LuaVM: watch.LuaVM{Heap: 300}, Recent: []watch.Recent{{States: map[string]float64{"C": 0.5}, Heap: 300}}},
			Evidence: evidence.Set{timers.Name: &timers.Result{Workers: []timers.Worker{{PID: 7, LuaTimers: ngxlua.LuaTimers{Pending: 3}}}}},
		}, watch.Failed(8, io.ErrUnexpectedEOF)},
	}
	event := &capture.Capture{PID: 7, At: time.Unix(2e9, 0).UTC(), Condition: "sleep>50ms", What: "the worker was put to sleep for 1s", Line: "handler@app.lua:24"}
	captured := &profile.Profile{Evidence: evidence.Set{capture.Name: event}}
	for name, c := range map[string]struct{ write, show func(io.Writer) error }{
		"profile": {
			sampled.WriteJSON,
			func(w io.Writer) error { return profiles.Draw(w, sampled, "", opt) },
		},
		"explain": {
			func(w io.Writer) error { return explained.WriteDocument(w, "explain") },
			func(w io.Writer) error { return explain.Draw(w, explained, opt) },
		},
		"watch": {
			func(w io.Writer) error { return json.NewEncoder(w).Encode(seen) },
			func(w io.Writer) error { return watch.Draw(w, seen, seen.At, opt) },
		},
		"capture": {
			func(w io.Writer) error { return captured.WriteDocument(w, "capture") },
			func(w io.Writer) error { return event.Summary(w, opt) },
		},
	} {
		var file, shown, drawn bytes.Buffer
		if err := c.write(&file); err != nil {
			t.Fatal(err)
		}
		if err := c.show(&shown); err != nil {
			t.Fatal(err)
		}
		if err := Draw(&drawn, file.Bytes(), time.UTC, opt); err != nil || shown.String() != drawn.String() || shown.Len() < 100 {
			t.Errorf("%s: %v\n%s\nis drawn as\n%s", name, err, &shown, &drawn)
		}
		var document struct {
			Schema, Kind string
			Head         map[string]any
		}
		if err := json.Unmarshal(file.Bytes(), &document); err != nil || document.Schema != record.Schema || document.Kind != name || document.Head == nil {
			t.Errorf("%v: %s", err, &file)
		}
		if several := bytes.Repeat(file.Bytes(), 2); name == "watch" || name == "capture" {
			drawn.Reset()
			if err := Draw(&drawn, several, time.UTC, opt); err != nil || drawn.String() != strings.Repeat(shown.String(), 2) {
				t.Errorf("two of %s: %v", name, err)
			}
		}
	}
	for _, earlier := range []string{`{"schema":"moonlap/1","kind":"watch","at":"2026-11-22T21:53:39Z","workers":[{"pid":7}]}`, `{"schema":"moonlap/1","kind":"explain","pid":7}`} {
		if err := Draw(io.Discard, []byte(earlier), time.UTC, opt); err != errEarlier {
			t.Errorf("%s: %v", earlier, err)
		}
	}
}
