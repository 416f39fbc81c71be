package sample

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
)

// probeReturn has the kernel trap where a function returns, as any other program may, until the test ends.
func probeReturn(t *testing.T, w *Worker, function string) {
	t.Helper()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, License: "MIT", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	object, err := w.FindObject(function)
	if err != nil {
		t.Fatal(err)
	}
	file, err := link.OpenExecutable(w.Path(object.Path))
	if err != nil {
		t.Fatal(err)
	}
	probe, err := file.Uretprobe(function, program, &link.UprobeOptions{PID: w.PID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { probe.Close() })
}

// TestProbedReturns: stacks are whole where the kernel has put a function's return address aside, which another program has asked
// it to: between nginx and Lua, and right behind Lua.
func TestProbedReturns(t *testing.T) {
	s := sampler(t)
	pid, client := nginx(t)
	w := open(t, pid)
	probeReturn(t, w, "lua_resume")
	probeReturn(t, w, "usleep")
	isProbed := func(f profile.Frame) bool { return strings.HasPrefix(f.Function, "(a probe") }
	for _, path := range []string{"/compiled", "/nap"} {
		t.Run(path, func(t *testing.T) {
			defer nginxtest.Request(t, client, path)()
			// Whoever stops the worker does not know what the kernel does.
			nginxtest.Await(t, "a return that is probed", true, func() (bool, error) {
				x, err := w.Sample()
				return slices.ContainsFunc(x.Stack, isProbed), err
			})
			want := map[string][]string{
				"/compiled": {"sum:13 j", "main chunk:53", "ngx_http_lua_run_thread", "main"},
				"/nap":      {"usleep", "nap:141 j", "main chunk:146 j", "ngx_http_lua_run_thread", "main"},
			}[path]
			// The kernel itself may be about to put an address aside, or to go on there: seldom.
			whole, cut := 0, []string{}
			nginxtest.Await(t, "whole stacks", true, func() (bool, error) {
				looks, err := w.Watch(t.Context(), s, 200*time.Millisecond, Wants{Hz: 500, Sleeps: true}, noTick)
				for _, x := range looks.Samples {
					switch {
					case slices.ContainsFunc(x.Stack, isProbed):
						cut = append(cut, fmt.Sprint(describe(x.Stack)))
					case x.Partial == nil && has(x.Stack, want):
						whole++
					}
				}
				return whole >= 50, err
			})
			if len(cut) > 5+whole/10 {
				t.Errorf("%d are whole, %d cut off:\n%s", whole, len(cut), strings.Join(cut, "\n"))
			}
		})
	}
}
