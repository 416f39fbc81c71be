package sample

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/runtime/luajittest"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// awaitMachine opens a program as soon as its VM is there.
func awaitMachine(t testing.TB, pid int) *Worker {
	t.Helper()
	return Of(workertest.Await(t, pid))
}

// TestProgram: a plain LuaJIT, whose machine nobody points to, is found from its first moments on, and
// its stack is as exact as a worker's.
func TestProgram(t *testing.T) {
	cmd := luajittest.Script(t, `local function inner(n)
    local x = 0
    for i = 1, n do x = (x + i) % 7 end
    return x
end
local function text(n)
    local s
    for i = 1, n do s = string.rep("x", i % 100) end
    return s
end
jit.off(text)
local function callback(c)
    return c:upper()
end
local function back()
    return (string.rep("x", 100):gsub(".", callback))
end
while true do
    inner(1e6)
    text(1e4)
    for _ = 1, 100 do back() end
end
`)
	w := awaitMachine(t, cmd.Process.Pid)
	scenes := [][]string{
		{"inner:3 j", "main chunk:19", "lua_cpcall", "__libc_start_main"},
		{"string.rep", "text:8", "main chunk:20", "lua_cpcall", "__libc_start_main"},
		{"callback:13", "string.gsub", "back:16", "main chunk:21", "lua_cpcall", "__libc_start_main"},
	}
	var last string
	for end := time.Now().Add(20 * time.Second); len(scenes) > 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		s, err := w.Sample()
		if err != nil {
			last = err.Error()
			continue
		}
		last = fmt.Sprint(s.State, describe(s.Stack), s.Partial)
		if s.Request != (ngxlua.Request{}) || s.Turn != 0 {
			t.Fatalf("a request, or a clock: %+v", s)
		}
		if s.Partial == nil && has(s.Stack, scenes[0]) {
			scenes = scenes[1:]
		}
	}
	if len(scenes) > 0 {
		t.Fatalf("no moment with %v in 20 s; the last one was %s", scenes[0], last)
	}
	seen := 0
	_, err := w.Poll(t.Context(), time.Minute, 100, func(time.Duration) {
		if seen++; seen == 3 {
			cmd.Process.Kill()
		}
	})
	if !errors.Is(err, worker.ErrEnded) {
		t.Errorf("a program that has ended: %v", err)
	}
}

// TestProgramChanges: a process that goes on as another program is not looked at any more.
func TestProgramChanges(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip(err)
	}
	goOn := filepath.Join(t.TempDir(), "go")
	cmd := luajittest.Script(t, fmt.Sprintf(`local ffi = require "ffi"
ffi.cdef "int execlp(const char *file, const char *arg, ...);"
repeat
    for _ = 1, 1e5 do end
    local f = io.open(%q)
until f
ffi.C.execlp("sleep", "sleep", "60", ffi.cast("char *", nil))
`, goOn))
	w := awaitMachine(t, cmd.Process.Pid)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := w.Poll(ctx, time.Minute, 100, func(time.Duration) { os.WriteFile(goOn, nil, 0o644) })
	if !errors.Is(err, worker.ErrEnded) || !strings.Contains(err.Error(), "another program") {
		t.Errorf("it runs sleep: %v", err)
	}
}

// TestLastMoments: what the kernel copied of a program is understood also when it is looked at late, after
// the program's end.
func TestLastMoments(t *testing.T) {
	s := sampler(t)
	cmd := luajittest.Script(t, "while true do for i = 1, 1e6 do end end")
	w := awaitMachine(t, cmd.Process.Pid)
	source, err := s.session.Attach(probe.Target{PID: w.PID, VM: w.VM}, 500)
	if err != nil {
		t.Fatal(err)
	}
	var last *probe.Snapshot
	nginxtest.Await(t, "a look at the program", true, func() (bool, error) {
		last = <-source.Snapshots()
		sample, err := w.snapshot(s, last)
		return sample.Lua && sample.Partial == nil, err
	})
	source.Detach()
	for range source.Snapshots() {
	}
	cmd.Process.Kill()
	cmd.Wait()
	w.kept = time.Time{} // long ago
	if sample, err := w.snapshot(s, last); err != nil || !sample.Lua || sample.Partial != nil {
		t.Errorf("%v, %+v", err, sample)
	}
}
