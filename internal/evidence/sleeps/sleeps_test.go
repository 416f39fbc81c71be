package sleeps

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
)

var (
	main    = profile.Frame{Kind: profile.C, Function: "main", File: "nginx"}
	handler = profile.Frame{Kind: profile.Lua, Function: "handler", File: "/srv/app.lua", FirstLine: 20, Line: 24}
	execute = profile.Frame{Kind: profile.Builtin, Function: "os.execute"}
	wait4   = profile.Frame{Kind: profile.C, Function: "wait4", File: "libc.so.6"}
	kernel  = profile.Frame{Kind: profile.Kernel, Function: "do_wait", File: "kernel"}
	unnamed = profile.Frame{Kind: profile.C, Function: "libx.so+0x10", File: "libx.so"}
)

const at = "handler@app.lua:24"

// slept is a sample that fell asleep for so long, and then waited for a processor.
func slept(call string, cause sample.Cause, length, queued time.Duration, frames ...profile.Frame) sample.Sample {
	return sample.Sample{
		Lua: true, Asleep: true, Request: ngxlua.Request{URI: "/one"}, Stack: append(frames, handler, main),
		Sleep: &sample.Sleep{Call: call, Cause: cause, For: length, Queued: queued},
	}
}

// TestOf: sleeps are grouped by what made the worker sleep, and the time that nothing accounts for is reported as unknown.
func TestOf(t *testing.T) {
	program := func(length time.Duration) sample.Sample {
		return slept("wait4", sample.Program, length, time.Millisecond, kernel, wait4, execute)
	}
	lock := slept("futex", sample.Lock, 4*time.Millisecond, 0, unnamed)
	lock.Lock = "cats"
	l := sample.Series{
		Timed: true, Every: 10 * time.Millisecond, Elapsed: time.Second, Began: time.Hour,
		Samples: []sample.Sample{
			program(10 * time.Millisecond), {Lua: true, Stack: []profile.Frame{handler, main}}, program(30 * time.Millisecond), lock,
			{Asleep: true, Stack: []profile.Frame{kernel, unnamed, main}, Sleep: &sample.Sleep{Call: "read", Cause: sample.Disk, For: 1}},
		},
		Rest: probe.Rest{Spent: probe.Spent{Computed: 100 * time.Millisecond, Slept: 44 * time.Millisecond, Idle: 800 * time.Millisecond, Sleeps: 4}},
	}
	r := Of(l)
	if r.Blocks[0].Advice == "" || !strings.Contains(r.Blocks[1].Advice, "shared dict") || r.Blocks[2].Advice != "" {
		t.Errorf("%+v", r.Blocks)
	}
	r.Blocks[0].Advice, r.Blocks[1].Advice = "", ""
	if diff := cmp.Diff([]Block{
		{Line: at, Called: "os.execute", Call: "wait4", Cause: "a program", URI: "/one", Count: 2, Total: 40e6, Longest: 30e6, Queued: 2e6},
		{Line: at, Called: "libx.so+0x10", Call: "futex", Cause: "a lock", URI: "/one", Count: 1, Total: 4e6, Longest: 4e6},
		{Called: "libx.so+0x10", Call: "read", Cause: "the disk", Count: 1, Total: 1, Longest: 1},
	}, r.Blocks); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Times{Began: time.Hour, Elapsed: 1e9, Spent: probe.Spent{Computed: 100e6, Idle: 800e6, Slept: 44e6, Sleeps: 4}, Unknown: 56e6}, r.Times); diff != "" {
		t.Error(diff)
	}
	both := r.Merge(r).(*Result)
	if b := both.Blocks[0]; len(both.Blocks) != 3 || b.Count != 4 || b.Total != 80e6 || b.Longest != 30e6 || r.Blocks[0].Count != 2 ||
		both.Times.Elapsed != 2e9 || both.Times.Unknown != 112e6 || both.Times.Began != time.Hour {
		t.Errorf("%+v", both)
	}
	if l.Timed = false; Of(l) != nil {
		t.Error("nobody reported sleeps")
	}
}

func TestAdvice(t *testing.T) {
	for function, want := range map[string]string{
		"os.execute": "ngx.pipe", "io.popen": "ngx.pipe", "io.open": "init_by_lua", "socket.sleep": "ngx.sleep", "": "cosockets",
		"buffer_meth_receive": "ngx.socket.tcp", "getaddrinfo": "resolver",
	} {
		if got := Advice(function); !strings.Contains(got, want) {
			t.Errorf("%s: %q does not speak of %s", function, got, want)
		}
	}
}
