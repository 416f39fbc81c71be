package runtime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime/runtimetest"
)

// both runs a test on LuaJIT and in nginx.
func both(t *testing.T, test func(t *testing.T, runtime record.Runtime)) {
	for _, kind := range []string{LuaJIT, Nginx} {
		t.Run(kind, func(t *testing.T) {
			runtime := find(t, kind)
			standIn(t)
			test(t, runtime)
		})
	}
}

func TestFinishes(t *testing.T) {
	both(t, func(t *testing.T, runtime record.Runtime) {
		o := run(t, t.Context(), measure(runtime, `process() finish()`))
		wantFinished(t, o)
		if len(o.lines) != 2 || o.exit.Status != 0 || o.exit.Signal != "" || o.exit.Process != 7 {
			t.Errorf("lines %+v, exit %+v", o.lines, o.exit)
		}
		if o.exit.CPUNS <= 0 || o.exit.MaxRSS < 1<<20 {
			t.Errorf("usage of nothing: %+v", o.exit)
		}
		if p := o.lines[0].(record.Process); !strings.HasPrefix(p.VM.Version, "LuaJIT") || p.Process != 7 {
			t.Errorf("process line %+v", p)
		}
	})
}

func TestExitsItself(t *testing.T) {
	both(t, func(t *testing.T, runtime record.Runtime) {
		o := run(t, t.Context(), measure(runtime, `process() os.exit(3)`))
		wantFault(t, o, record.FaultExit, `"thing"`, "status 3", "os.exit")
		if o.exit.Status != 3 {
			t.Errorf("exit %+v", o.exit)
		}
	})
}

func TestCrashes(t *testing.T) {
	both(t, func(t *testing.T, runtime record.Runtime) {
		o := run(t, t.Context(), measure(runtime, `process() require("ffi").cast("int*", 0)[0] = 1`))
		wantFault(t, o, record.FaultCrash, `"thing"`, "SIGSEGV (signal 11)")
		if o.exit.Signal != "SIGSEGV" {
			t.Errorf("exit %+v", o.exit)
		}
	})
}

func TestTimesOut(t *testing.T) {
	both(t, func(t *testing.T, runtime record.Runtime) {
		spec := measure(runtime, `process() while true do end`)
		spec.Timeout = time.Second
		wantFault(t, run(t, t.Context(), spec), record.FaultTimeout, `"thing"`, "1s", "it had started")
	})
}

func TestInterrupted(t *testing.T) {
	both(t, func(t *testing.T, runtime record.Runtime) {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := Start(ctx, measure(runtime, `process() while true do end`))
		if err != nil {
			t.Fatal(err)
		}
		<-p.Lines()
		cancel()
		if o := outcomeOf(t, p); o.fault != nil {
			t.Errorf("an interrupted process is no fault: %+v", *o.fault)
		}
	})
}

func TestLeavesNoChildren(t *testing.T) {
	both(t, func(t *testing.T, runtime record.Runtime) {
		o := run(t, t.Context(), measure(runtime, `os.execute("sleep 1000 &") process() finish()`))
		wantFinished(t, o) // and standIn looks for what's left
	})
}

// A child that has left the process group still holds the pipes; that must not hold us.
func TestEscapedChildHoldsNothingUp(t *testing.T) {
	both(t, func(t *testing.T, runtime record.Runtime) {
		o := run(t, t.Context(), measure(runtime, `os.execute("setsid sleep 5 &") process() finish()`))
		wantFinished(t, o)
		if took := time.Duration(o.exit.ElapsedNS); took > 4*time.Second {
			t.Errorf("waited %s for a child that had escaped", took)
		}
		for len(runtimetest.Marked(os.Getenv(runtimetest.Mark))) > 0 {
			time.Sleep(50 * time.Millisecond) // let it go before standIn looks
		}
	})
}

func TestCorruptChannel(t *testing.T) {
	both(t, func(t *testing.T, runtime record.Runtime) {
		o := run(t, t.Context(), measure(runtime,
			`process() raw('nonsense\n') raw('{"type":"newer"}\n') finish() raw('{"type":"fin')`))
		if len(o.lines) != 3 {
			t.Fatalf("lines %+v", o.lines)
		}
		f, ok := o.lines[1].(record.Fault)
		if !ok || f.Kind != record.FaultChannel || f.Process != 7 {
			t.Errorf("the corrupt line became %+v", o.lines[1])
		}
		if _, ok := o.lines[2].(record.Finish); !ok {
			t.Errorf("reading did not go on: %+v", o.lines[2])
		}
	})
}

func TestClosedChannel(t *testing.T) {
	runtime := find(t, LuaJIT)
	standIn(t)
	o := run(t, t.Context(), measure(runtime, `process() close() while true do end`))
	wantFault(t, o, record.FaultChannel, "closed the channel")
}

func TestOwnFaultIsEnough(t *testing.T) {
	both(t, func(t *testing.T, runtime record.Runtime) {
		o := run(t, t.Context(), measure(runtime,
			`process() raw('{"type":"fault","process":7,"worker":0,"case":0,"kind":"error","text":"boom"}\n')`))
		wantFault(t, o, record.FaultError, "boom")
		if len(o.lines) != 2 {
			t.Errorf("lines %+v", o.lines)
		}
	})
}

func TestOutputIsBounded(t *testing.T) {
	both(t, func(t *testing.T, runtime record.Runtime) {
		o := run(t, t.Context(), measure(runtime, `
			local line = ("x"):rep(1023) .. "\n"
			for i = 1, 102400 do io.stdout:write(line) end
			for i = 1, 10240 do io.stderr:write(line) end
			io.stdout:flush() process() finish()`))
		wantFinished(t, o)
		if out := o.exit.Stdout; out == nil || out.Bytes != 100<<20 || len(out.Head) != headSize {
			t.Errorf("stdout %+v", out)
		}
		if out := o.exit.Stderr; out == nil || out.Bytes != 10<<20 || len(out.Head) != headSize {
			t.Errorf("stderr %+v", out)
		}
	})
}

func TestJobOfAnySize(t *testing.T) {
	both(t, func(t *testing.T, runtime record.Runtime) {
		spec := measure(runtime, `assert(#job.setup == 300000) process() finish()`)
		spec.Job.Setup = strings.Repeat("-", 300000)
		wantFinished(t, run(t, t.Context(), spec))
	})
}

func TestEnvironmentVaries(t *testing.T) {
	runtime := find(t, LuaJIT)
	standIn(t)
	lengths := map[string]bool{}
	for process := range 4 {
		spec := measure(runtime, `process() finish(#os.getenv("MOONLAP_PAD"))`)
		spec.Job.Process = process
		o := run(t, t.Context(), spec)
		wantFinished(t, o)
		lengths[o.lines[1].(record.Finish).Stop] = true
	}
	if len(lengths) < 2 {
		t.Errorf("four processes, one size of the environment: %v", lengths)
	}
}

func TestNoLibrary(t *testing.T) {
	both(t, func(t *testing.T, runtime record.Runtime) {
		empty := filepath.Join(t.TempDir(), "moonlap")
		if err := os.Mkdir(empty, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("MOONLAP_LUA_DIR", filepath.Dir(empty))
		wantFault(t, run(t, t.Context(), measure(runtime, ``)), record.FaultStart, "moonlap.bench.process")
	})
}

func TestMisuse(t *testing.T) {
	runtime := find(t, LuaJIT)
	standIn(t)
	spec := measure(runtime, ``)
	spec.Job.Workers = 2
	if _, err := Start(t.Context(), spec); err == nil {
		t.Error("LuaJIT started with two workers")
	}
	t.Setenv("MOONLAP_LUA_DIR", "/nonexistent")
	if _, err := Start(t.Context(), measure(runtime, ``)); err == nil || !strings.Contains(err.Error(), "MOONLAP_LUA_DIR") {
		t.Errorf("started without a library: %v", err)
	}
}

func TestManyAtOnce(t *testing.T) {
	runtime := find(t, LuaJIT)
	standIn(t)
	outcomes := make(chan outcome)
	for i := range 8 {
		go func() {
			spec := measure(runtime, `process() finish(job.process)`)
			spec.Job.Process = i + 1
			outcomes <- run(t, t.Context(), spec)
		}()
	}
	var got []string
	for range 8 {
		o := <-outcomes
		if len(o.lines) == 2 {
			got = append(got, o.lines[1].(record.Finish).Stop)
		}
	}
	slices.Sort(got)
	if fmt.Sprint(got) != "[1 2 3 4 5 6 7 8]" {
		t.Errorf("finished: %v", got)
	}
}
