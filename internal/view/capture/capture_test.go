package capture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

// lua is a stack with a line of Lua on top.
func lua(line int) []profile.Frame {
	return []profile.Frame{{Kind: profile.Lua, Function: "f", File: "app.lua", FirstLine: 1, Line: line}, {Kind: profile.C, Function: "main", File: "nginx"}}
}

// stalled is a worker that ran line 2 in each tenth of a second, then line 9 for a second, then line 2 again.
func stalled() (pending, *sample.Tail) {
	t := &sample.Tail{Now: 14 * sec, Since: sec}
	t.Timed, t.Every = true, 10*ms
	for at := 2 * sec; at < 14*sec; at += 10 * ms {
		s := sample.Sample{Time: at, Lua: true, Stack: lua(2), Request: ngxlua.Request{Method: "GET", URI: "/fast"}}
		switch in := at >= 10*sec && at < 11*sec; {
		case in:
			s.Stack, s.Request.URI = lua(9), "/slow"
		case at%(100*ms) != 0:
			continue
		}
		t.Samples = append(t.Samples, s)
	}
	stall := sample.Stall{Start: 10 * sec, Length: sec, Events: 3, Queued: 5 * ms}
	t.Stalls = []sample.Stall{stall}
	e := event{Condition: Condition{What: Turn, Above: 1e8}, From: 10 * sec, To: 11*sec - 1, Amount: 1e9, Stall: &stall}
	return pending{
		event: e, At: time.Date(2026, 11, 22, 1, 2, 3, 4e6, time.UTC), Also: []event{{Condition: Condition{What: Heap}, Amount: 3e8}}, More: 2,
		Readings: []Reading{{At: 8 * sec}, {At: 9 * sec, Heap: 1e6, Computed: sec}, {At: 11 * sec, Heap: 2e6, Computed: 2 * sec, Slept: 3, Queued: 4}, {At: 12 * sec}},
		InFlight: make([]ngxlua.InFlight, 30),
	}, t
}

func TestNew(t *testing.T) {
	p, tail := stalled()
	c := newCapture(4711, 5*sec, p, tail)
	if c.Line != "f@app.lua:9" || c.Request != "GET /slow" || c.What != "a turn of the event loop took 1s" || c.Stall.Events != 3 || c.Stall.Queued != 5e6 {
		t.Errorf("%s, %s, %s, %+v", c.Line, c.Request, c.What, c.Stall)
	}
	if c.BeforeNS != 5e9 || c.AfterNS != 3e9+1 || c.Samples != 100 || c.SamplesBefore != 50 || len(c.InFlight) != mostInFlight || c.More != 2 {
		t.Errorf("%d ns before, %d after; %d samples, %d before; %d in flight", c.BeforeNS, c.AfterNS, c.Samples, c.SamplesBefore, len(c.InFlight))
	}
	if diff := cmp.Diff([]Change{{"f@app.lua:9", 1, 0}}, c.Lines); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]HeapReading{{-2e9, 0}, {-1e9, 1e6}, {1e9, 2e6}, {2e9, 0}}, c.Heap); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Lua's heap reached 300 MB"}, c.Also); diff != "" {
		t.Error(diff)
	}
	if c.Around != nil {
		t.Errorf("what became of a turn is known exactly: %+v", c.Around)
	}
	p.Stall = nil
	if diff := cmp.Diff(&Around{2e9, 1e9, 3, 4}, newCapture(4711, 5*sec, p, tail).Around); diff != "" {
		t.Error(diff)
	}
	p.From, p.To = tail.Now+sec, tail.Now+2*sec // behind the last reading: nothing is known, rather than 0 ns of 0 ns
	if a := newCapture(4711, 5*sec, p, tail).Around; a != nil {
		t.Errorf("of an event behind all readings: %+v", a)
	}
	when := map[string]int64{}
	for _, s := range c.profile.Stacks {
		when[s.Labels["when"]+" "+s.Labels["uri"]] += s.Count
	}
	if diff := cmp.Diff(map[string]int64{"before /fast": 50 * 10e6, "in it /slow": 100 * 10e6, "after /fast": 30 * 10e6}, when); diff != "" {
		t.Error(diff)
	}

	// What was usual before is reported: line 2 took a tenth of the time.
	p.From, p.To = 12*sec, 13*sec
	c = newCapture(4711, 2*sec, p, tail)
	if diff := cmp.Diff([]Change{{"f@app.lua:2", 0.11, 0.05}}, c.Lines); diff != "" {
		t.Error(diff)
	}
}

// TestOfTheSameTurn: a short sleep before a long one, in the same turn, is none of the time before.
func TestOfTheSameTurn(t *testing.T) {
	tail := &sample.Tail{Now: 10 * sec}
	tail.Timed = true
	for i, slept := range []time.Duration{ms, sec} {
		tail.Samples = append(tail.Samples, sample.Sample{
			Time: 5*sec + time.Duration(i)*10*ms, Lua: true, Turn: 4998, Stack: lua(3), Asleep: true,
			Sleep: &sample.Sleep{Call: "wait4", Cause: sample.Program, For: slept},
		})
	}
	e := event{Condition: Condition{What: Sleep}, From: 5010 * ms, To: 6010 * ms, Turn: 4998}
	c := newCapture(1, 5*sec, pending{event: e}, tail)
	if c.Samples != 2 || c.SamplesBefore != 0 || len(c.Blocks) != 1 || c.Blocks[0].Count != 2 || c.Advice == "" {
		t.Errorf("%d samples, %d before, %+v, %q", c.Samples, c.SamplesBefore, c.Blocks, c.Advice)
	}
}

func TestWrite(t *testing.T) {
	p, tail := stalled()
	in := t.TempDir()
	c := newCapture(4711, 5*sec, p, tail)
	if err := c.Write(in); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(in, "20261122T010203.004Z-4711-turn")
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(want, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if c.Folder != want || !strings.Contains(read(summaryFile), "A turn of the event loop took 1s.") || !strings.Contains(read(graphFile), "worker 4711 · a turn of the event loop took 1s · 2026-11-22 01:02:03 UTC") {
		t.Errorf("%s", c.Folder)
	}
	// They hold what users sent: for their owner alone.
	if info, err := os.Stat(want); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, name := range []string{summaryFile, graphFile, profileFile} {
		if info, err := os.Stat(filepath.Join(want, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	kept, err := profile.ReadJSON([]byte(read(profileFile)))
	if err != nil || kept.Total() != c.profile.Total() {
		t.Errorf("%v", err)
	}
	again, _ := kept.Evidence[Name].(*Capture)
	if again == nil || again.Line != c.Line {
		t.Fatalf("%+v", kept.Evidence)
	}
	c.profile, again.profile = nil, nil
	if diff := cmp.Diff(c, again, cmpopts.EquateEmpty(), cmp.AllowUnexported(Capture{})); diff != "" {
		t.Error(diff)
	}
	c.profile = kept

	// What cannot be written leaves nothing, and what there was stays.
	if err := c.Write(in); err == nil || !strings.Contains(err.Error(), "the capture of "+in) { // it is there already
		t.Errorf("%v", err)
	}
	left, err := os.ReadDir(in)
	if err != nil || len(left) != 1 || read(summaryFile) == "" {
		t.Errorf("%v, %v", left, err)
	}
	if err := c.Write(filepath.Join(in, "none")); err == nil || !strings.Contains(err.Error(), "the capture cannot be written") {
		t.Errorf("%v", err)
	}
}
