package allocations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/runtime/luajittest"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/sample/sampletest"
	"github.com/moonlap/moonlap/internal/worker"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// threeLines is a script whose lines 10, 13 and 16 allocate bytes as 6:3:1. It tells the file shares how many a call of
// each allocates, by its own count, with the collector stopped.
const threeLines = `local ffi = require "ffi"
local kind = ffi.typeof "struct { char bytes[40]; }"
local keep
local number = 1e9 local kept = {} for i = 1, 40000 do kept[i] = "so many that their table keeps its size " .. i end
%s
collectgarbage("stop")
local lines = {
function(n)
    for i = 1, n do
        keep = { i, i, i, i }
    end end, function(n)
    for i = 1, n do
        number = number + 1 keep = "the string " .. number
    end end, function(n)
    for i = 1, n do
        keep = kind()
    end end
}
local counts, bytes, parts = {}, {}, { 6, 3, 1 }
for i, line in ipairs(lines) do
    local each = {} -- in a few, the table of strings grows
    for k = 1, 101 do
        local before = collectgarbage("count")
        line(100)
        each[k] = (collectgarbage("count") - before) * 1024 / 100
    end
    table.sort(each)
    bytes[i] = each[51]
    counts[i] = math.floor(parts[i] * 100 / bytes[i] + 0.5)
end
local f = io.open(%q, "w")
for i = 1, 3 do f:write(counts[i] * bytes[i], "\n") end
f:close()
collectgarbage("restart")
local x = 0
while true do
    for i = 1, 3 do lines[i](counts[i]) end
    for i = 1, 100 do x = (x * 31 + i) %% 1000003 end
end
`

// lineOf is the line of the script that a sample was allocated by.
func lineOf(s sample.Sample) int {
	for _, f := range s.Stack {
		if f.Kind == profile.Lua {
			return f.Line
		}
	}
	return 0
}

// TestAllocationShares: the lines' shares of the bytes are those that the script counts itself, within what so many looks can
// tell; where all is seen, and in windows. On a machine that is so busy that the script comes to run for parts of a few rounds
// in the windows alone, looks tell less than their number says: then it is looked at again. Wrong shares are wrong each time.
func TestAllocationShares(t *testing.T) {
	s := sampletest.Sampler(t)
	for name, prelude := range map[string]string{"compiled": "", "interpreted": "jit.off()"} {
		for _, budget := range []float64{1, 0.05} {
			t.Run(fmt.Sprint(name, " ", budget), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "shares")
				w := workertest.Await(t, luajittest.Script(t, fmt.Sprintf(threeLines, prelude, file)).Process.Pid)
				right := luajittest.Numbers(t, file, 3)
				var wrong []string
				for range 4 {
					l := count(t.Context(), w, s, 2*time.Second, budget, noTick)
					if l.err != nil {
						t.Fatal(l.err)
					}
					if wrong = wrongShares(l, budget, right); len(wrong) == 0 {
						return
					}
					t.Log(strings.Join(wrong, "; "))
				}
				t.Error("four times")
			})
		}
	}
}

// An observation is what was observed of a worker's allocations.
type observation struct {
	*Result
	looks sample.Series
	taken []taken
	lost  uint64
	err   error
}

func noTick(time.Duration) {}

// count observes a worker's allocations for a while.
func count(ctx context.Context, w *worker.Worker, s *sample.Sampler, duration time.Duration, budget float64, tick func(time.Duration)) (o observation) {
	sampling, err := sample.Of(w).Sampling(s, sample.Wants{})
	if err != nil {
		o.err = err
		return o
	}
	one, err := observeAllocations(observe.At{Worker: w, Sampling: sampling, Budget: budget, Hz: 500})
	if err != nil {
		sampling.Close()
		o.err = err
		return o
	}
	during, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- one.Run(during) }()
	o.looks, o.err = sampling.Run(ctx, duration, tick, func() {
		stop()
		<-ended
	})
	stop()
	result, err := one.Result()
	o.Result, o.taken = result.(*Result), one.(*observer).taken
	if o.err == nil {
		o.err = err
	}
	whole, _ := one.(*observer).probe.Read()
	o.lost = whole.Lost
	return o
}

// wrongShares tells where looks at the script of three lines do not tell what it counts.
func wrongShares(l observation, budget float64, right []float64) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	const enough = 50
	if len(l.taken) < enough || l.looks.Failed > len(l.taken)/20 {
		say("%d samples, %d failed (%v): %+v", len(l.taken), l.looks.Failed, l.looks.LastErr, l.Result)
		return wrong
	}
	got := map[int]float64{}
	var all, squares, stands, spread float64
	for _, x := range l.taken {
		bytes := x.Stands() * float64(x.Growth)
		stands += bytes
		spread += bytes * bytes
		got[lineOf(x.Sample)] += x.Bytes
		all += x.Bytes
		squares += x.Bytes * x.Bytes
	}
	if math.Abs(all-l.Bytes) > all/1e6 {
		say("the samples stand for %.0f bytes, not %.0f", all, l.Bytes)
	}
	// The looks are a Poisson process on the bytes, so a line's share of n of them is binomial; looks of different weights tell
	// as much as N of the same. Five standard errors are one in a million.
	n := all * all / squares
	const errors = 5
	// Each sample means the inverse of its probability: where all is probed, together for what was counted.
	missing := (errors + float64(l.looks.Lost+l.looks.Failed+int(l.lost))) * stands / float64(len(l.taken))
	counted, error := float64(l.Counted), errors*math.Sqrt(spread)
	if budget == 1 && (stands > counted+error || stands < counted-error-missing) {
		say("%.0f looks stand for %.0f bytes, and %.0f were counted", n, stands, counted)
	}
	for i, line := range []int{10, 13, 16} {
		p := right[i] / (right[0] + right[1] + right[2])
		if share := got[line] / all; math.Abs(share-p) > errors*math.Sqrt(p*(1-p)/n) {
			say("line %d has %.3f of the bytes; by its own count it is %.3f, and %.0f looks tell more", line, share, p, n)
		}
	}
	return wrong
}

// counting is a script that says when it is ready, allocates between two readings of the collector's count, once a file is
// there, and then writes how many bytes it came to.
const counting = `local ffi = require "ffi"
ffi.cdef "int access(const char *path, int mode); int usleep(unsigned us);"
local kind = ffi.typeof "struct { char bytes[100]; }"
%s
local keep, ready, go, out = {}, %q, %q, %q
local function write(file, number)
    local f = io.open(file, "w")
    f:write(number, "\n")
    f:close()
end
local function lines(n)
    for i = 1, n do
        keep[i] = { i, i, { x = i } }
        keep[-i] = kind()
    end
end
local function await()
    while ffi.C.access(go, 0) ~= 0 do ffi.C.usleep(1000) end
end
jit.off(await)
lines(20000) -- keep has grown
collectgarbage()
collectgarbage("stop")
write(ready, 1)
await()
local before = collectgarbage("count")
lines(20000)
write(out, (collectgarbage("count") - before) * 1024)
while true do ffi.C.usleep(1e5) end
`

// TestAllocationTotal: what is counted is what LuaJIT counts, with the collector stopped; and the heap has grown by so much.
func TestAllocationTotal(t *testing.T) {
	s := sampletest.Sampler(t)
	for name, prelude := range map[string]string{"compiled": "", "interpreted": "jit.off()"} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			ready, start, done := filepath.Join(folder, "ready"), filepath.Join(folder, "go"), filepath.Join(folder, "done")
			w := workertest.Await(t, luajittest.Script(t, fmt.Sprintf(counting, prelude, ready, start, done)).Process.Pid)
			luajittest.Numbers(t, ready, 1)
			place, err := w.Place(allocator(t, w))
			if err != nil {
				t.Fatal(err)
			}
			sampling, err := sample.Of(w).Sampling(s, sample.Wants{})
			if err != nil {
				t.Fatal(err)
			}
			defer sampling.Close()
			one, err := observeAllocations(observe.At{Worker: w, Sampling: sampling, Hz: 1, Budget: 1})
			if err != nil {
				t.Fatal(err)
			}
			a := one.(*observer)
			if err := errors.Join(a.probe.Attach(), a.probe.Open(1<<20)); err != nil {
				t.Fatal(err)
			}
			_, before, _ := a.collector.Read()
			os.WriteFile(start, nil, 0o644)
			right := luajittest.Numbers(t, done, 1)[0]
			shut := a.probe.Shut()
			got, err := a.probe.Read()
			a.probe.Detach()
			if err != nil || shut != nil {
				t.Fatal(err, shut)
			}
			const around = 64 << 10 // what the script allocates to write its file, and LuaJIT to compile
			if got := float64(got.Bytes); got < right || got > right+around {
				t.Errorf("%.0f bytes, where LuaJIT counts %.0f", got, right)
			}
			_, after, _ := a.collector.Read()
			if grown := float64(after) - float64(before); grown < right || grown > right+around {
				t.Errorf("the heap has grown by %.0f bytes, where LuaJIT counts %.0f", grown, right)
			}
			const blocks = 20000 * 4 // two tables, the hash of one, C data
			if got.Blocks < blocks || got.Blocks > blocks+around/16 || got.Traps < got.Blocks {
				t.Errorf("%d blocks, not %d; %d traps", got.Blocks, blocks, got.Traps)
			}
			now := make([]byte, len(place.Code))
			if err := w.ReadAt(now, allocator(t, w)); err != nil || !bytes.Equal(now, place.Code) {
				t.Errorf("the allocator is left as % x, not % x: %v", now[:16], place.Code[:16], err)
			}
		})
	}
}

// allocator is the address of the worker's.
func allocator(t *testing.T, w *worker.Worker) uint64 {
	t.Helper()
	library, err := w.FindObject("lua_setallocf")
	if err != nil {
		t.Fatal(err)
	}
	a, err := w.VM.Allocator(library)
	if err != nil {
		t.Fatal(err)
	}
	return a.Function
}
