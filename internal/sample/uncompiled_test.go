package sample

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
)

// uncompiled starts an nginx that serves testdata/uncompiled.lua, after some Lua at each worker's start.
func uncompiled(t *testing.T, first string) (w *Worker, client *http.Client) {
	t.Helper()
	location := ""
	for _, cause := range []string{"closure", "off", "branch", "stitch", "ended", "many", "leaving", "hooked"} {
		location += fmt.Sprintf(`location = /%s { content_by_lua_block { require("uncompiled").%s() } }`, cause, cause)
	}
	pid, client := nginxWith(t, `lua_package_path "$prefix/?.lua;./?.lua;;";`,
		fmt.Sprintf(`location = /first { content_by_lua_block { %s } }`, first)+location)
	nginxtest.Get(t, client, "/first")
	return open(t, pid), client
}

// TestUncompiled: each planted cause is found, by samples of the kernel.
func TestUncompiled(t *testing.T) {
	s := sampler(t)
	for _, c := range []struct {
		path, first string
		wanted      func(*Uncompiled) bool
	}{
		{"closure", "", func(u *Uncompiled) bool { return closure(u) }},
		{"off", "", func(u *Uncompiled) bool { return u.Why == luajit.FunctionOff && u.Root.Function == "off" && !u.Loop }},
		{"branch", "", func(u *Uncompiled) bool {
			return u.Why == luajit.Left && u.Loop && u.Root.Line == 28 && u.Branch == 29 && slices.Equal(u.Obstacles, []luajit.Obstacle{{Code: "FNEW", Line: 31}})
		}},
		{"ended", "", func(u *Uncompiled) bool {
			return u.Why == luajit.Left && u.Root.Line == 50 && u.End.Called.Function == "string.gsub" && u.End.At.Line == 51 && !u.End.GoesOn
		}},
		{"hooked", "", func(u *Uncompiled) bool { return u.Why == luajit.Hooked }},
		{"closure", "jit.off()", func(u *Uncompiled) bool { return u.Why == luajit.Off && u.Root.Function == "_M.closure" }},
		{"many", `require("jit.opt").start("maxtrace=100")`, func(u *Uncompiled) bool { return u.Why == luajit.Flushed }},
	} {
		t.Run(strings.TrimSpace(c.path+" "+c.first), func(t *testing.T) {
			w, client := uncompiled(t, c.first)
			defer nginxtest.Request(t, client, "/"+c.path)()
			ticks(t, w, s, func(x Sample) bool {
				if (x.Uncompiled != nil) != (x.Lua && x.State == luajit.Interpreted) {
					t.Errorf("%v, Lua %v: %+v", x.State, x.Lua, x.Uncompiled)
				}
				return x.Uncompiled != nil && c.wanted(x.Uncompiled)
			})
		})
	}
}

// closure reports that the loop of closure in uncompiled.lua was not compiled because of its closure.
func closure(u *Uncompiled) bool {
	return (u.Why == luajit.Blacklisted || u.Why == luajit.Penalized) && u.Loop && u.Root.Line == 8 && u.Reason == "NYI: bytecode" &&
		slices.Equal(u.Obstacles, []luajit.Obstacle{{Code: "FNEW", Line: 9}})
}

// TestUncompiledStopped: looks that stop the worker tell the same.
func TestUncompiledStopped(t *testing.T) {
	w, client := uncompiled(t, `require("jit.opt").start("hotexit=1000")`)
	for _, c := range []struct {
		path   string
		wanted func(Sample) bool
	}{
		{"closure", func(x Sample) bool { return x.Uncompiled != nil && closure(x.Uncompiled) }},
		{"leaving", leaving},
	} {
		stop := nginxtest.Request(t, client, "/"+c.path)
		nginxtest.Await(t, c.path, true, func() (bool, error) {
			l, err := w.Poll(t.Context(), 200*time.Millisecond, 500, noTick)
			return slices.ContainsFunc(l.Samples, c.wanted), err
		})
		stop()
	}
}

// leaving reports that the trace of leaving in uncompiled.lua was left, for either way.
func leaving(x Sample) bool {
	e := x.Exit
	return e != nil && x.State == luajit.TraceExit && e.Root.Line == 70 && e.Loop && e.Root.Function == "_M.leaving" && e.To.Line >= 70 && e.To.Line <= 74
}

// TestExits: samples of the kernel tell which trace is left, and for where.
func TestExits(t *testing.T) {
	s := sampler(t)
	w, client := uncompiled(t, `require("jit.opt").start("hotexit=1000")`)
	defer nginxtest.Request(t, client, "/leaving")()
	ticks(t, w, s, leaving)
	known, unknown := 0, 0
	l, err := w.Ticks(t.Context(), s, time.Second, 500, noTick)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range l.Samples {
		if x.State == luajit.TraceExit && x.Exit != nil {
			known++
		} else if x.State == luajit.TraceExit {
			unknown++
		}
	}
	if unknown > 1+known/10 {
		t.Errorf("%d exits are known, %d are not", known, unknown)
	}
}

// TestCompilation: what ends traces, how many there may be, and that they are thrown away.
func TestCompilation(t *testing.T) {
	s := sampler(t)
	w, client := uncompiled(t, `require("jit.opt").start("maxtrace=100", "maxmcode=3000")`)
	look := func() Compilation {
		l, err := w.Ticks(t.Context(), s, 300*time.Millisecond, 99, noTick)
		if err != nil {
			t.Fatal(err)
		}
		return *l.Compilation
	}
	stop := nginxtest.Request(t, client, "/stitch")
	nginxtest.Await(t, "the call that ends a trace", true, func() (bool, error) {
		c := look()
		if c.Limits.Traces != 100 || c.Limits.Code != 3000<<10 || c.Traces == 0 || c.Area == 0 || c.Area > c.Limits.Code || c.Flushes != 0 {
			return false, fmt.Errorf("%+v", c)
		}
		for e := range c.Ends {
			if e.Called.Function == "string.gsub" && e.At.Line == 41 && e.GoesOn {
				return true, nil
			}
		}
		return false, fmt.Errorf("%+v", c.Ends)
	})
	stop()
	defer nginxtest.Request(t, client, "/many")()
	nginxtest.Await(t, "traces are thrown away", true, func() (bool, error) {
		c := look()
		if c.Traces > 100 {
			t.Errorf("%d traces of 100", c.Traces)
		}
		return c.Flushes > 0, nil
	})
}
