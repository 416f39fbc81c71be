package runtime

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime/runtimetest"
)

// The job runs in each phase once, also on two workers, and the code sees that phase.
func TestPhases(t *testing.T) {
	runtime := find(t, Nginx)
	for _, phase := range Phases {
		t.Run(phase, func(t *testing.T) {
			standIn(t)
			spec := measure(runtime, `process() finish(ngx.get_phase())`)
			spec.Job.Phase, spec.Job.Workers = phase, 2
			o := run(t, t.Context(), spec)
			wantFinished(t, o)
			workers := map[int]int{}
			for _, l := range o.lines {
				if f, ok := l.(record.Finish); ok {
					workers[f.Worker]++
					if f.Stop != phase {
						t.Errorf("the code saw the phase %q", f.Stop)
					}
				}
			}
			if len(workers) != 2 || workers[0] != 1 || workers[1] != 1 {
				t.Errorf("finishes by worker: %v", workers)
			}
		})
	}
}

func TestNoSuchPhase(t *testing.T) {
	runtime := find(t, Nginx)
	standIn(t)
	spec := measure(runtime, ``)
	spec.Job.Phase = "lunch"
	if _, err := Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "header_filter") {
		t.Errorf("got %v", err)
	}
}

// A worker that yields can be asked for another job; it must not take one.
func TestWorkersThatYield(t *testing.T) {
	runtime := find(t, Nginx)
	standIn(t)
	spec := measure(runtime, `process() ngx.sleep(0.2) finish()`)
	spec.Job.Phase, spec.Job.Workers = "content", 4
	o := run(t, t.Context(), spec)
	wantFinished(t, o)
	var pids []int
	for _, l := range o.lines {
		if p, ok := l.(record.Process); ok {
			pids = append(pids, p.PID)
		}
	}
	slices.Sort(pids)
	if len(slices.Compact(pids)) != 4 || len(o.lines) != 8 {
		t.Errorf("PIDs %v, %d lines", pids, len(o.lines))
	}
}

// The master replaces a dead worker; the new one must not begin again.
func TestNoSecondChance(t *testing.T) {
	runtime := find(t, Nginx)
	for _, phase := range []string{PhaseTimer, "content", "init_worker"} {
		t.Run(phase, func(t *testing.T) {
			standIn(t)
			spec := measure(runtime, `process() if worker() == 1 then os.exit(5) end ngx.sleep(60) finish()`)
			if phase == "init_worker" { // where nothing may sleep
				spec = measure(runtime, `process() if worker() == 1 then os.exit(5) end`)
			}
			spec.Job.Phase, spec.Job.Workers = phase, 2
			o := run(t, t.Context(), spec)
			wantFault(t, o, record.FaultExit, "status 5")
			if o.fault.Worker != 1 || o.exit.Status != 5 {
				t.Errorf("fault %+v, exit %+v", *o.fault, o.exit)
			}
			begun := 0
			for _, l := range o.lines {
				if _, ok := l.(record.Process); ok {
					begun++
				}
			}
			if begun > 2 {
				t.Errorf("begun %d times", begun)
			}
		})
	}
}

func TestEndedRequest(t *testing.T) {
	runtime := find(t, Nginx)
	standIn(t)
	spec := measure(runtime, `process() ngx.exit(500)`)
	spec.Job.Phase = "content"
	wantFault(t, run(t, t.Context(), spec), record.FaultExit, "ngx.exit")
}

func TestRequestsStopped(t *testing.T) {
	runtime := find(t, Nginx)
	standIn(t)
	spec := measure(runtime, `process() finish()`)
	spec.HTTPConf = []string{"deny all;"}
	wantFault(t, run(t, t.Context(), spec), record.FaultStart, "403", "--http-conf")
}

func TestUserDirectives(t *testing.T) {
	runtime := find(t, Nginx)
	standIn(t)
	file := filepath.Join(t.TempDir(), "more conf")
	if err := os.WriteFile(file, []byte("lua_shared_dict dogs 1m;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := measure(runtime, `assert(ngx.shared.cats and ngx.shared.dogs and started == 1) process() finish()`)
	spec.HTTPConf = []string{"lua_shared_dict cats 1m;\ninit_by_lua_block { started = 1 }\n" +
		"init_worker_by_lua_block { assert(started) }", "@" + file}
	spec.MainConf = []string{"events { worker_connections 64; }"}
	wantFinished(t, run(t, t.Context(), spec))
}

func TestRefusedDirectives(t *testing.T) {
	runtime := find(t, Nginx)
	for name, c := range map[string]struct {
		main, http []string
		words      []string
	}{
		"unknown": {http: []string{"lua_shared_dict a 1m;", "\n  foo bar;"},
			words: []string{`unknown directive "foo"`, "this is --http-conf number 2, line 2: foo bar;"}},
		"main":        {main: []string{"worker_processes 2;"}, words: []string{"duplicate", "--main-conf, line 1"}},
		"brace":       {http: []string{"map $a $b {"}, words: []string{"[emerg]", "brace"}},
		"other brace": {http: []string{"}"}, words: []string{"[emerg]"}},
		"Lua":         {http: []string{"init_by_lua_block { error('no way') }"}, words: []string{"no way"}},
	} {
		t.Run(name, func(t *testing.T) {
			standIn(t)
			spec := measure(runtime, `process() finish()`)
			spec.MainConf, spec.HTTPConf = c.main, c.http
			wantFault(t, run(t, t.Context(), spec), record.FaultStart, append(c.words, "nginx did not start")...)
		})
	}
}

// The socket's path has 108 bytes at most, wherever the temporary folder is.
func TestLongTemporaryFolder(t *testing.T) {
	runtime := find(t, Nginx)
	standIn(t)
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30)+` "quoted"`)
	if err := os.Mkdir(long, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	wantFinished(t, run(t, t.Context(), measure(runtime, `process() finish()`)))
	if left, _ := filepath.Glob(long + "/*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestNoPortIsOpened(t *testing.T) {
	runtime := find(t, Nginx)
	standIn(t)
	o := run(t, t.Context(), measure(runtime, `
		local links = io.popen("ls -l /proc/" .. getpid() .. "/fd /proc/$PPID/fd"):read("*a")
		local tcp = io.open("/proc/net/tcp"):read("*a") .. io.open("/proc/net/tcp6"):read("*a")
		for inode in links:gmatch("socket:%[(%d+)%]") do
			assert(not tcp:find(" " .. inode .. " ", 1, true), "a TCP socket is open")
		end
		assert(links:find("socket:"))
		process() finish()`))
	wantFinished(t, o)
}

// An OpenResty tree has the Lua module compiled in. A script stands in for one: it says
// so, and loads the modules as if they were.
func TestBuiltInLuaModule(t *testing.T) {
	plain := find(t, Nginx)
	standIn(t)
	var globals []string
	for _, m := range modules(plain.LuaModule) {
		globals = append(globals, "load_module "+m+";")
	}
	file := filepath.Join(t.TempDir(), "openresty")
	script := fmt.Sprintf(`#!/bin/sh
if [ "$1" = -V ]; then
	echo 'nginx version: openresty/1.25.3.1' >&2
	exit
fi
exec %s "$@" -g '%s'
`, plain.Path, strings.Join(globals, " "))
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	runtime, err := Find(t.Context(), Nginx, Options{Nginx: file})
	if err != nil {
		t.Fatal(err)
	}
	if runtime.OpenResty != "1.25.3.1" || runtime.LuaModule != "" {
		t.Errorf("runtime %+v", runtime)
	}
	wantFinished(t, run(t, t.Context(), measure(runtime, `process() finish()`)))
}

// TestKilled kills a moonlap outright, and its guard before it: nginx and LuaJIT must go with it.
func TestKilled(t *testing.T) {
	if kind := os.Getenv("MOONLAP_TEST_VICTIM"); kind != "" {
		victim(t, kind)
		return
	}
	both(t, func(t *testing.T, runtime record.Runtime) {
		begun := filepath.Join(t.TempDir(), "begun")
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "MOONLAP_TEST_VICTIM="+runtime.Kind, "MOONLAP_TEST_BEGUN="+begun)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(begun); err == nil {
				break
			}
			if time.Now().After(end) {
				cmd.Process.Kill()
				t.Fatal("the victim did not begin")
			}
		}
		mark := os.Getenv(runtimetest.Mark)
		if len(runtimetest.Marked(mark)) < 2 {
			t.Errorf("only %q run", runtimetest.Marked(mark))
		}
		killGuard(t, cmd.Process.Pid)
		cmd.Process.Kill()
		cmd.Wait()
		for end := time.Now().Add(20 * time.Second); len(runtimetest.Marked(mark)) > 0 && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); len(left) == 0 {
			t.Error("the victim had no folder: nothing is proved about sweeping")
		}
		sweep(os.Getenv("TMPDIR")) // as the next moonlap does; standIn looks at what is left
	})
}

// killGuard kills the guard of a moonlap.
func killGuard(t *testing.T, pid int) {
	t.Helper()
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for child := range strings.FieldsSeq(string(children)) {
			line, _ := os.ReadFile("/proc/" + child + "/cmdline")
			if guard, _ := strconv.Atoi(child); strings.HasPrefix(string(line), guardName+"\x00") && guard > 1 {
				syscall.Kill(guard, syscall.SIGKILL)
				return
			}
		}
	}
	t.Error("there is no guard")
}

// victim starts a process, with workers that have no job yet, and waits to be killed.
func victim(t *testing.T, kind string) {
	spec := measure(find(t, kind), `process() io.open(os.getenv("MOONLAP_TEST_BEGUN"), "w"):close() while true do end`)
	if kind == Nginx {
		spec.Job.Workers = 2
	}
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	for range p.Lines() {
	}
}
