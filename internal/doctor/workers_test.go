package doctor

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/worker"
)

// TestWorkerChecks: workers that are alike share a check; what is refused says why, and what to do.
func TestWorkerChecks(t *testing.T) {
	about := func(pid, master, traces int) worker.About {
		return worker.About{PID: pid, Master: master, Program: "/n/nginx", Nginx: "nginx/1.22.1", Module: "0.10.23",
			LuaJIT: "LuaJIT 2.1", Library: "/l/libluajit.so", BuildID: "0123456789abcdef", Branch: true, Exact: true,
			Traces: traces, Verified: []string{"one", "two"}}
	}
	old := about(9, 8, 0)
	old.Exact, old.Branch, old.Nginx, old.Module, old.BuildID = false, false, "", "", ""
	in := func(pid, master int, err error) inspected {
		return inspected{worker.About{PID: pid, Master: master}, err}
	}
	got := workerChecks([]inspected{
		{old, nil},
		{about(2, 1, 3), nil}, {about(3, 1, 4), nil},
		in(5, 4, fmt.Errorf("/l/libluajit.so: %w: 32-bit pointers", luajit.ErrLayout)),
		in(6, 4, fmt.Errorf("the nginx of process 6 has %w: the module is not loaded", worker.ErrNoLua)),
		in(7, 4, fmt.Errorf("the nginx of process 7 has %w: the module is not loaded", worker.ErrNoLua)),
		in(10, 8, fmt.Errorf("may not: %w", os.ErrPermission)),
		in(11, 8, errors.New("exports nothing")),
	})
	want := []Check{
		ok("workers", "2, 3 of master 1: nginx/1.22.1 (/n/nginx), Lua module 0.10.23; LuaJIT 2.1, OpenResty's branch "+
			"(libluajit.so, build 0123456789ab), its layout read from its code; verified: one, two (7 of them now)"),
		problem("worker", "5 of master 4: /l/libluajit.so: this LuaJIT's layout is unknown: 32-bit pointers",
			"profile, watch and explain refuse it rather than misread it; they know LuaJIT 2.1 since 2019-05, x86-64 with 64-bit pointers"),
		note("workers", "6, 7 of master 4: the nginx has no Lua in it: the module is not loaded",
			"profile, watch and explain are for nginx with Lua"),
		note("worker", "9 of master 8: nginx of unknown version (/n/nginx); LuaJIT 2.1 (libluajit.so), its layout read from its code; verified: one, two",
			"this LuaJIT is older than 2021-12: inside traces functions are known, lines are not"),
		note("worker", "10 of master 8: this user may not read its memory", "run as root, or with CAP_SYS_PTRACE"),
		problem("worker", "11 of master 8: exports nothing", "profile, watch and explain cannot observe it"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
}
