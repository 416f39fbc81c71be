package capture

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/evidence/turns"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/ui"
)

// TestSummary: a capture's page says what happened, where, for which request, and what was different.
func TestSummary(t *testing.T) {
	c := &Capture{
		PID: 7, At: time.Date(2026, 11, 22, 1, 2, 3, 4e6, time.UTC), Condition: "turn>100ms", What: "a turn of the event loop took 305ms",
		Line: "f@a.lua:3 os.execute", Request: "GET /x\x1b[31m", Advice: "use ngx.pipe", BeforeNS: 10e9, LengthNS: 305e6, AfterNS: 2e9,
		Stall: &turns.Stall{Computed: 1e6, Slept: 303e6, Queued: 1e6, Events: 3},
		Lines: []Change{{Name: "f@a.lua:3 os.execute", In: 0.99, Before: 0.001}, {Name: "g@a.lua:9", In: 0.01}},
		Heap:  []HeapReading{{At: -10e9, Bytes: 1e6}, {At: 0, Bytes: 8e6}}, Also: []string{"Lua's heap reached 8.00 MB"}, More: 4, Missed: 2,
		InFlight: []ngxlua.InFlight{{Method: "GET", URI: "/waits", Age: time.Second, Phase: "content"}}, Samples: 31, SamplesBefore: 1200,
		Folder: "caps/x",
	}
	var b bytes.Buffer
	if err := c.Summary(&b, ui.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		"moonlap watch · worker 7 · turn>100ms\n", "  what     A turn of the event loop took 305ms.\n", "  when     2026-11-22 01:02:03.004 UTC\n",
		"  line     f@a.lua:3 os.execute\n", "  request  GET /x\n", "computed 1.00 ms · blocked 303 ms · without a processor 1.00 ms · 3 events served",
		"10.0 s before · 305 ms of it · 2.00 s after", "  → Use ngx.pipe.\n", "  also     Lua's heap reached 8.00 MB\n", "  also     4 more\n",
		"missed   2 events", "     99 %   0.1 %  f@a.lua:3 os.execute\n", "      1 %       –  g@a.lua:9\n", "by 31 samples in it and 1,200 before",
		"1.00 MB to 8.00 MB ▁█", "GET /waits",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if line := c.Short(ui.Options{}); line != "2026-11-22 01:02:03.004Z · worker 7 · a turn of the event loop took 305ms · f@a.lua:3 os.execute · GET /x\n  → caps/x" {
		t.Errorf("%q", line)
	}
	c.Lines, c.Samples, c.Stall = nil, 0, nil
	c.Around = &Around{NS: 5e8, ComputedNS: 2e6, SleptNS: 301e6, QueuedNS: 7e6}
	b.Reset()
	if err := c.Summary(&b, ui.Options{}); err != nil || !strings.Contains(b.String(), "None: Lua was on the stack in no sample of 0.") ||
		!strings.Contains(b.String(), "without a processor 7.00 ms · of\n           500 ms around it") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
