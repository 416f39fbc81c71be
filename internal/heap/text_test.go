package heap

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/ui"
)

// holder makes one with sums.
func branch(name string, count, size int64, inner ...*Holder) *Holder {
	h := &Holder{Name: name, Count: count, Bytes: size, HeldCount: count, HeldBytes: size, Inner: inner}
	for _, i := range inner {
		h.HeldCount += i.HeldCount
		h.HeldBytes += i.HeldBytes
	}
	return h
}

func heapExample(strings int64) *Snapshot {
	cache := branch(".cache table", 1, 1000, branch("[…] string", strings, 100*strings))
	root := branch("Lua heap", 0, 0,
		branch("package.loaded", 1, 100, branch(".app table", 1, 100, cache)),
		branch("_G", 1, 5000))
	return &Snapshot{Time: time.Unix(1e9, 0), Heaps: []Heap{{
		PID: 7, Stopped: true, PauseNS: 2_000_000, Stops: 1, Copied: 3_000_000, Objects: strings + 4,
		Total: root.HeldBytes + 1000, Holders: root,
		Types: []Type{
			{Name: "string", Count: strings, Bytes: 100 * strings, GarbageCount: 2, GarbageBytes: 200},
			{Name: "table", Count: 4, Bytes: root.HeldBytes - 100*strings},
		},
		Others: []overhead{{Name: "table of strings", Bytes: 1000}, {Name: "nothing", Bytes: 0}},
		Tables: []Table{{Path: "package.loaded.app.cache", Entries: strings, Bytes: 1000, Held: cache.HeldBytes}},
		CData:  []Place{{What: "int32_t[]", Path: "package.loaded → .app table → .buffer", Count: 1, Bytes: 40}},
	}}}
}

func drawn(t *testing.T, draw func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := draw(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wants(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestHeap(t *testing.T) {
	s := heapExample(1000)
	text := drawn(t, func(b *bytes.Buffer) error { return Draw(b, s, ui.Options{Width: 100}) })
	wants(t, text,
		"worker 7", "107 kB", "1,004 objects", "of them 2 garbage (200 B)", "every byte that LuaJIT counts",
		"2.00 ms, in which 3.00 MB were copied\n",
		"  package.loaded.app table → .cache table → […] string\n",
		"      40 B          1  int32_t[], package.loaded → .app table → .buffer\n",
		"   1.00 kB    101 kB      1,000  package.loaded.app.cache\n",
	)
	if strings.Contains(text, "nothing") {
		t.Error("an overhead of nothing is shown")
	}
	h := &s.Heaps[0]
	h.Total += 10_000
	h.Broken, h.Cut, h.Stops = 3, 1, 2
	text = drawn(t, func(b *bytes.Buffer) error { return Draw(b, s, ui.Options{Width: 400}) })
	wants(t, text, "91 % of what LuaJIT counts; 10.0 kB is not accounted for; 3 objects or references make no sense, 1 list ended too early",
		"2 times, as its lists were just being changed")
	h.Stopped = false
	h.Total -= 20_000
	text = drawn(t, func(b *bytes.Buffer) error { return Draw(b, s, ui.Options{Width: 400}) })
	wants(t, text, "10.0 kB more than LuaJIT counts", "none: what changed while it was copied may be wrong")
}

func TestDrawDiff(t *testing.T) {
	before, after := heapExample(1000), heapExample(3000)
	after.Time = before.Time.Add(time.Hour)
	text := drawn(t, func(b *bytes.Buffer) error { return DrawDiff(b, before, after, ui.Options{Width: 100}) })
	wants(t, text, "what changed in 1h0m0s", "107 kB → 307 kB · +200 kB", "string   +2,000  +200 kB",
		"  +200 kB     +2,000    300 kB  package.loaded.app table → .cache table → […] string\n")
	if strings.Contains(text, "shrank") || strings.Contains(text, "_G") {
		t.Errorf("nothing shrank, and _G is the same:\n%s", text)
	}
	text = drawn(t, func(b *bytes.Buffer) error { return DrawDiff(b, after, before, ui.Options{Width: 100}) })
	wants(t, text, "what shrank", "-200 kB     -2,000    100 kB")
	text = drawn(t, func(b *bytes.Buffer) error { return DrawDiff(b, before, before, ui.Options{Width: 100}) })
	if strings.Contains(text, "grew") || strings.Contains(text, "shrank") {
		t.Errorf("nothing changed:\n%s", text)
	}
}

// TestASCII: where the terminal knows ASCII alone, nothing else is written.
func TestASCII(t *testing.T) {
	for _, r := range drawn(t, func(b *bytes.Buffer) error { return Draw(b, heapExample(1000), ui.Options{ASCII: true, Width: 100}) }) {
		if r > 127 {
			t.Errorf("%q", r)
		}
	}
}
