package sample

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/heap"
	"github.com/moonlap/moonlap/internal/heap/heaptest"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/runtime/luajittest"
)

// What script/test-builds runs on other builds of LuaJIT than the one that is installed: what is calibrated,
// or settled on the machine, is right in each.

// TestBuildStacks: stacks of a plain LuaJIT, with lines inside traces where its snapshots know their machine code. It is
// looked at from its first moments on, when no trace tells yet where traces are.
func TestBuildStacks(t *testing.T) {
	cmd := luajittest.Script(t, `local ffi = require "ffi"
ffi.cdef "int usleep(unsigned);"
local last, primes = {}, { 31, 37, 41, 43 }
local function mix(a, i) last[i % 7] = a
    return (a * primes[i % 4 + 1] + i) % 1000003
end
local function sum(n)
    local a = 7
    for i = 1, n do

        a = mix(a, i)
    end
    return a
end
local function slow(n)
    local t = {}
    for i = 1, n do
        t[i % 10] = string.format("%d:%s:%g", i, "some text", i / 3)
    end
    return t
end
jit.off(slow)
local function nap(n)
    for _ = 1, n do
        ffi.C.usleep(500)
    end
end
local co = coroutine.wrap(function()
    while true do coroutine.yield(sum(3e5)) end
end)
while true do
    sum(5e6)
    slow(1e5)
    nap(200)
    for _ = 1, 20 do co() end
end
`)
	w := awaitMachine(t, cmd.Process.Pid)
	w.Hold = time.Second // what comes of samples that a slow machine cuts short is for TestHold
	type scene struct {
		state  luajit.State
		frames []string
	}
	scenes := []scene{
		{luajit.Interpreted, []string{"slow:18", "main chunk:33", "lua_cpcall"}},
		{luajit.InC, []string{"string.format", "slow:18", "main chunk:33", "lua_cpcall"}},
	}
	until := time.Now().Add(time.Minute)
	var last string
	next := func(found func(Sample) bool) {
		for time.Now().Before(until) {
			s, err := w.Sample()
			if last = fmt.Sprint(err, s.State, describe(s.Stack), s.Partial); err == nil && s.Partial == nil && found(s) {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Fatalf("no such moment in a minute; the last one was %s", last)
	}
	next(func(s Sample) bool { return s.State == luajit.Compiled && w.VM.Layout.Traces != 0 })
	if w.VM.Settle(); w.VM.Layout.SnapshotPC {
		scenes = append(scenes,
			scene{luajit.Compiled, []string{"mix:5 j", "sum:11 j", "main chunk:32", "lua_cpcall"}},
			scene{luajit.Compiled, []string{"usleep", "nap:25 j", "main chunk:34", "lua_cpcall"}},
			scene{luajit.Compiled, []string{"sum:11 j", ":29", "main chunk:35", "lua_cpcall"}})
	} else { // which function it is is known, and no line of it
		scenes = append(scenes,
			scene{luajit.Compiled, []string{"sum:0 j", "main chunk:32", "lua_cpcall"}},
			scene{luajit.Compiled, []string{"usleep", "nap:0 j", "main chunk:34", "lua_cpcall"}},
			scene{luajit.Compiled, []string{"sum:0 j", ":29", "main chunk:35", "lua_cpcall"}})
	}
	for len(scenes) > 0 {
		next(func(s Sample) bool { return s.State == scenes[0].state && has(s.Stack, scenes[0].frames) })
		scenes = scenes[1:]
	}
	looks, err := w.Poll(t.Context(), 2*time.Second, 200, func(time.Duration) {})
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, s := range looks.Samples {
		if d := describe(s.Stack); s.Lua && s.Partial == nil && strings.HasPrefix(d[len(d)-1], "_start") {
			whole++
		}
	}
	t.Logf("looks: %d, %d failed (%v), %d whole to _start; lines in traces: %v",
		len(looks.Samples), looks.Failed, looks.LastErr, whole, w.VM.Layout.SnapshotPC)
	const most = 0.05 // of samples at a program that changes under them; it is below 0.01
	if n := len(looks.Samples); n == 0 || float64(looks.Failed+n-whole) > most*float64(n)+2 {
		t.Errorf("%d looks, %d failed, %d whole", n, looks.Failed, whole)
	}
}

// TestBuildHealth: the compiler's, the collector's and the heap's state of a plain LuaJIT that has come to rest.
func TestBuildHealth(t *testing.T) {
	cmd := luajittest.Script(t, `local ffi = require "ffi"
ffi.cdef "int usleep(unsigned);"
kept = {}
for i = 1, 1000 do kept[i] = ("kept %4d"):format(i) .. ("x"):rep(100) end
local function hot(n)
    local x = 0
    for i = 1, n do if i % 3 == 0 then x = x + i else x = x - 1 end end
    return x
end
for _ = 1, 100 do hot(1000) end
local function cold(n)
    local f
    for i = 1, n do f = function() return i end end
    return f
end
for _ = 1, 1000 do cold(1000) end
collectgarbage() collectgarbage()
at_rest = { yes = "yes" }
while true do ffi.C.usleep(1000000) end
`)
	w := awaitMachine(t, cmd.Process.Pid)
	for end := time.Now().Add(time.Minute); w.VM.Text("at_rest", "yes") != "yes"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the script does not come to rest")
		}
	}
	w.VM.Settle()
	j, err := w.VM.JIT()
	if traces := w.VM.TraceCount(); err != nil || traces < 2 || traces != j.Root+j.Side || j.Code == 0 || j.Area < j.Code {
		t.Errorf("%d traces, %+v, %v", traces, j, err)
	}
	const cold = 13 // line of the loop that makes functions
	given := false
	for _, a := range j.Aborts {
		given = given || a.Line == cold && a.Loop && a.Blacklisted && strings.HasPrefix(a.Reason, "NYI: bytecode")
	}
	if !given {
		t.Errorf("line %d is not among %+v", cold, j.Aborts)
	}
	list, err := w.VM.Blacklist(time.Minute)
	listed := false
	for _, p := range list.Places {
		listed = listed || p.Line == cold && p.Loop
	}
	if err != nil || !listed || !list.Whole {
		t.Errorf("line %d is not among %+v, %v", cold, list, err)
	}
	gc, err := w.VM.GC()
	if w.VM.Layout.OldStrings {
		if err != nil || gc.Stopped() || gc.InUse < 150_000 || gc.InUse > 300_000 {
			t.Errorf("%+v, %v", gc, err)
		}
		_, err = heaptest.First(w.Worker, heap.Options{Pause: heaptest.Patient})
		if !errors.Is(err, luajit.ErrLayout) || !strings.Contains(err.Error(), "before 2020-10") {
			t.Errorf("its heap: %v", err)
		}
		t.Logf("%s, %s: %d traces, %d aborts; %v", w.VM.Text("jit", "version"), w.VM.Library, w.VM.TraceCount(), len(j.Aborts), err)
		return
	}
	h := heaptest.Take(t, w.Worker)
	if err != nil || gc.Stopped() || math.Abs(float64(gc.InUse)-float64(h.Total)) > 1000 {
		t.Errorf("%+v, %v; the heap has %d bytes", gc, err, h.Total)
	}
	if h.Total != h.Accounted() || h.Broken != 0 || h.Cut != 0 {
		t.Errorf("Lua counts %d bytes, %d were found; %d broken, %d cut", h.Total, h.Accounted(), h.Broken, h.Cut)
	}
	const size = (24 + 9 + 100 + 4) &^ 3
	if found := heaptest.Find(h.Holders, "", ".kept table → […] string"); found == nil || found.Count != 1000 || found.Bytes != 1000*size {
		t.Errorf("the strings of the table kept: %+v", found)
	}
	t.Logf("%s, %s: %d traces, %d aborts, %d bytes of %d in the heap found", w.VM.Text("jit", "version"), w.VM.Library, w.VM.TraceCount(),
		len(j.Aborts), h.Accounted(), h.Total)
}
