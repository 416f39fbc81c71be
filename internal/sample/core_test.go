package sample

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/heap/heaptest"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/process/processtest"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker"
)

// stuck is a location of nginx's where the worker goes to a folder and sleeps in C: that way each of its
// moments is like the others.
const stuck = `location = /stuck { content_by_lua_block {
	local ffi = require "ffi"
	ffi.cdef "int chdir(const char *); int usleep(unsigned);"
	ffi.C.chdir(ngx.var.arg_to)
	while true do ffi.C.usleep(1e9) end
} }`

// TestCoreOfWorker: a core tells what a look at the worker does that ends with it: stack, request, and heap.
func TestCoreOfWorker(t *testing.T) {
	pid, client := nginxWith(t, "", stuck)
	w := open(t, pid)
	nginxtest.Get(t, client, "/heap")
	folder := t.TempDir()
	go func() { // it never ends, so it ends with the worker
		if res, err := client.Get("http://worker/stuck?to=" + folder); err == nil {
			res.Body.Close()
		}
	}()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if s, err := w.Sample(); err == nil && s.Lua && s.Asleep && s.Request.URI == "/stuck" && has(s.Stack, []string{"usleep"}) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the request does not run")
		}
	}
	for name, path := range map[string]string{"ours": ourCore(t, w, folder), "the kernel's": kernelCore(t, w, folder)} {
		if path == "" {
			continue
		}
		core, err := worker.OpenCore(path, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer core.Close()
		c := Of(core)
		s, err := c.Sample()
		if err != nil || s.Partial != nil || s.Request.Method != http.MethodGet || s.Request.URI != "/stuck" ||
			!has(s.Stack, []string{"usleep", "main chunk:5", "ngx_http_lua_run_thread", "main"}) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		if c.PID != pid || c.Core.Signal != syscall.SIGABRT {
			t.Errorf("%s is of process %d, not %d, ended by %v", name, c.PID, pid, c.Core.Signal)
		}
		// A core does not tell when it was written, so not how old they are.
		is := func(f ngxlua.InFlight) bool {
			return f.URI == "/stuck" && f.Running && f.Phase == "content" && f.Age == 0
		}
		if all, err := c.InFlight(); err != nil || !slices.ContainsFunc(all, is) {
			t.Errorf("%s: %+v, %v", name, all, err)
		}
		if timers, err := c.LuaTimers(); err != nil || timers.Running != 1 { // what the test's nginx was started for
			t.Errorf("%s: %+v, %v", name, timers, err)
		}
		h := heaptest.Take(t, core)
		heaptest.SameSpilt(t, core, h)
		if h.Total != h.Accounted() || h.Broken != 0 || h.Cut != 0 {
			t.Errorf("%s: Lua counts %d bytes, %d were found; %d broken, %d cut", name, h.Total, h.Accounted(), h.Broken, h.Cut)
		}
		if found := heaptest.Find(h.Holders, "", `upvalue store → table → […] string`); found == nil || found.Count != 10_000 {
			t.Errorf("%s: the cache holds %+v", name, found)
		}
	}
}

// kernelCore ends the worker with a signal, and returns the core that the kernel writes; "" where it is told to
// write none, or to give it to a program.
func kernelCore(t *testing.T, w *Worker, folder string) string {
	t.Helper()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if text := strings.TrimSpace(string(pattern)); err != nil || text == "" || strings.ContainsAny(text, "|/") {
		t.Logf("no core of the kernel's: core_pattern is %q, %v", text, err)
		return ""
	}
	limit := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(w.PID, unix.RLIMIT_CORE, &limit, nil); err != nil {
		t.Logf("no core of the kernel's: the worker's limit cannot be raised: %v", err)
		return ""
	}
	if err := syscall.Kill(w.PID, syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if s, err := w.Stat(); err == nil && !s.Ended() {
			continue
		}
		all, _ := filepath.Glob(filepath.Join(folder, "*"))
		for _, file := range all {
			if process.IsCore(file) && filepath.Base(file) != "ours" {
				return file
			}
		}
		t.Logf("no core of the kernel's: the worker has ended and left %q", all)
		return ""
	}
	t.Fatal("the worker does not end")
	return ""
}

// ourCore writes the core that the kernel would write if a signal ended the worker now.
func ourCore(t *testing.T, w *Worker, folder string) string {
	t.Helper()
	c := processtest.Core{PID: w.PID, Name: w.Name(), Title: w.Title(), Signal: int(syscall.SIGABRT), Bytes: map[uint64][]byte{}}
	if _, err := w.Stopped(time.Second, func(r process.Registers) error {
		c.Registers = r
		if err := w.ReadMaps(); err != nil {
			return err
		}
		for _, m := range w.Maps {
			size := m.End - m.Start
			if m.Inode != 0 && !m.Writable {
				size = 0
				if m.Offset == 0 {
					size = 4096
				}
			}
			b := make([]byte, size)
			if size > 0 && w.ReadAt(b, m.Start) == nil {
				c.Bytes[m.Start] = b
			}
			c.Maps = append(c.Maps, m)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "ours")
	if err := os.WriteFile(path, c.File(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
