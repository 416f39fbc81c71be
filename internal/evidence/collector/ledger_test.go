package collector

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/runtime/luajittest"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// A modelHeap is a heap with LuaJIT's collector, as far as its books go: each step marks or sweeps a little.
type modelHeap struct {
	luajit.GC
	allocated, garbage, left float64
	used                     time.Duration
}

// step has the program run and allocate for a microsecond, and then the collector go on where it is due.
func (m *modelHeap) step(bytes uint64) {
	m.used += time.Microsecond
	m.InUse += bytes
	m.allocated += float64(bytes)
	m.garbage += float64(bytes)
	if m.InUse < m.Threshold {
		return
	}
	const sweep = 4 << 10
	switch m.Phase {
	case 0:
		m.Phase, m.left = 1, float64(m.Estimate/(2<<10))
	case 1: // propagate
		if m.left--; m.left <= 0 {
			m.Phase, m.White, m.Estimate, m.left, m.garbage = 4, 3-m.White, m.InUse, m.garbage, 0
		}
	case 4:
		freed := uint64(min(m.left, sweep))
		m.InUse -= freed
		m.Estimate -= freed
		if m.left -= float64(freed); m.left <= 0 {
			m.Phase, m.Threshold = 0, 2*m.Estimate
		}
	}
}

// TestLedger: whatever a program allocates, the books have it, if there are readings in each cycle; and of gaps in which there
// may have been several cycles they say that they do not know.
func TestLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heap := uint64(rapid.IntRange(1<<20, 4<<20).Draw(t, "heap"))
		m := modelHeap{GC: luajit.GC{InUse: heap, Threshold: heap, Estimate: heap, White: 1}}
		most := rapid.Uint64Range(20, 200).Draw(t, "most bytes at once")
		gaps := rapid.SliceOfN(rapid.IntRange(1, 2000), 200, 300).Draw(t, "gaps")
		for range rapid.IntRange(0, 3).Draw(t, "long gaps") {
			gaps[rapid.IntRange(150, len(gaps)-1).Draw(t, "which")] = 100_000
		}
		var c books
		c.next(reading{GC: m.GC})
		longest, shortest := 0, time.Duration(math.MaxInt64) // gap, and cycle
		var marked, doubtful time.Duration                   // when a cycle had marked all, the last time; gaps in which one had
		for n, gap := range gaps {
			white := m.White
			for k := range gap {
				before := m.White
				m.step(uint64(n*k)%most + 1)
				if m.White != before {
					if marked > 0 {
						shortest = min(shortest, m.used-marked)
					}
					marked = m.used
				}
			}
			if m.White != white {
				doubtful += time.Duration(gap) * time.Microsecond
			}
			c.next(reading{Used: m.used, GC: m.GC})
			longest = max(longest, gap)
		}
		bytes, guessed := c.Bytes()
		const rates = 0.05 // what is guessed comes from their mean, and in this model they differ
		if off := math.Abs(bytes - m.allocated); off > guessed+m.allocated*rates {
			t.Errorf("%.0f bytes, %.0f of them guessed, where %.0f were allocated", bytes, guessed, m.allocated)
		}
		// A gap may hide as much as the program ever allocates in that time: most bytes a microsecond.
		if at := float64(most) * float64((doubtful + c.Blind).Microseconds()); guessed > at {
			t.Errorf("%.0f bytes are guessed, and at most %.0f were allocated where the books cannot know", guessed, at)
		}
		// A cycle is known to within a gap, and a gap is blind from half a cycle on.
		if 3*time.Duration(longest)*time.Microsecond < shortest && longest <= 2000 && c.Blind > 0 {
			t.Errorf("blind for %v, with gaps of %d µs at most and cycles of %v at least", c.Blind, longest, shortest)
		}
	})
}

// TestLedgerOfMarking: between readings before and after the end of a cycle's marking, what is known is known.
func TestLedgerOfMarking(t *testing.T) {
	const s = time.Millisecond
	for name, c := range map[string]struct {
		readings       []reading
		bytes, guessed float64
	}{
		"in one cycle": {[]reading{
			{Used: 0, GC: luajit.GC{InUse: 100, Estimate: 50}}, {Used: s, GC: luajit.GC{InUse: 130, Estimate: 50}},
			{Used: 2 * s, GC: luajit.GC{InUse: 120, Estimate: 20}}, // 30 were freed, and 20 allocated
		}, 50, 0},
		"marked between": {[]reading{
			{Used: 0, GC: luajit.GC{InUse: 100, Estimate: 50, Phase: 1}}, {Used: s, GC: luajit.GC{InUse: 130, Estimate: 50, Phase: 1}},
			// 140 were in use when all was marked, of which 5 have been freed; since then there were 10 more.
			{Used: 2 * s, GC: luajit.GC{InUse: 145, Estimate: 135, White: 1}},
		}, 30 + 30, 30 - 15},
		"finalizers": {[]reading{
			{Used: 0, GC: luajit.GC{InUse: 100, Estimate: 50, Phase: luajit.Finalize}},
			{Used: s, GC: luajit.GC{InUse: 130, Estimate: 20, Phase: luajit.Finalize}},
		}, 30, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var l books
			for _, r := range c.readings {
				l.next(r)
			}
			if bytes, guessed := l.Bytes(); math.Abs(bytes-c.bytes) > 1e-6 || math.Abs(guessed-c.guessed) > 1e-6 {
				t.Errorf("%v bytes, %v guessed; not %v and %v", bytes, guessed, c.bytes, c.guessed)
			}
		})
	}
}

// churning allocates as much in each round as it has told a file, by LuaJIT's own count with the collector stopped, and then,
// with the collector running, does so in N rounds once another file is there.
const churning = `local ffi = require "ffi"
ffi.cdef "int access(const char *path, int mode); int usleep(unsigned us);"
local kept, keep = {}, nil
for i = 1, 200000 do kept[i] = { i } end
%s
local ready, go, done, rounds = %q, %q, %q, %d
local function write(file, ...)
    local f = io.open(file, "w")
    f:write(table.concat({ ... }, "\n"), "\n")
    f:close()
end
local function round()
    for i = 1, 100 do keep = { i, i, i, i } end
end
local function compute()
    local x = 0
    for i = 1, %d do x = (x * 31 + i) %% 1000003 end
end
collectgarbage("stop")
local sizes = {}
for i = 1, 101 do
    local before = collectgarbage("count")
    round()
    sizes[i] = (collectgarbage("count") - before) * 1024
end
table.sort(sizes)
collectgarbage("restart")
write(ready, sizes[51], collectgarbage("count"))
local function await() while ffi.C.access(go, 0) ~= 0 do ffi.C.usleep(1000) end end
jit.off(await)
await()
for _ = 1, rounds do round() compute() end
write(done, 1)
while true do ffi.C.usleep(1e5) end
`

// TestCollectorOfScript: what a real LuaJIT allocates while its collector runs is what it has counted for each round before.
func TestCollectorOfScript(t *testing.T) {
	for name, c := range map[string]struct {
		prelude string
		compute int // so that a cycle takes some 50 ms
	}{"compiled": {"", 5000}, "interpreted": {"jit.off()", 500}} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			ready, start, done := filepath.Join(folder, "ready"), filepath.Join(folder, "go"), filepath.Join(folder, "done")
			const rounds = 10000
			w := workertest.Await(t, luajittest.Script(t, fmt.Sprintf(churning, c.prelude, ready, start, done, rounds, c.compute)).Process.Pid)
			right := luajittest.Numbers(t, ready, 2)[0] * rounds
			watch := NewWatch(w, time.Millisecond, time.Millisecond)
			watch.Read()
			ctx, cancel := context.WithCancel(t.Context())
			var wait sync.WaitGroup
			wait.Go(func() { watch.Run(ctx) })
			os.WriteFile(start, nil, 0o644)
			luajittest.Numbers(t, done, 1)
			cancel()
			wait.Wait()
			ledger, _, _ := watch.Read()
			bytes, guessed := ledger.Bytes()
			t.Logf("%.0f bytes, %.0f of them guessed; %.0f by the script", bytes, guessed, right)
			if watch.err != nil || len(watch.lengths) == 0 {
				t.Fatalf("no cycle was seen: %v", watch.err)
			}
			// Of the rest, a little is LuaJIT's compiler's, and what the script allocates for its file.
			if math.Abs(bytes-right) > 2*guessed+right/50 {
				t.Errorf("%.0f bytes, %.0f of them guessed, where the script counts %.0f", bytes, guessed, right)
			}
		})
	}
}
