package ngxlua_test

import (
	"fmt"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// threaded starts an nginx that serves testdata/threads.lua.
func threaded(t *testing.T) (w *worker.Worker, ask, start func(path string)) {
	t.Helper()
	location := func(name string) string {
		return fmt.Sprintf(`location = /%s { content_by_lua_block { require("threads").%[1]s() } }`, name)
	}
	pid, client := startNginx(t, `lua_package_path "$prefix/?.lua;./?.lua;;";`, location("tree")+location("orphan")+location("timers"))
	return workertest.Open(t, pid), func(path string) { nginxtest.Get(t, client, path) }, func(path string) { nginxtest.Begin(t, client, path) }
}

// TestThreads: the light threads of requests as trees, each with the line where it waits.
func TestThreads(t *testing.T) {
	w, _, start := threaded(t)
	start("/tree")
	start("/orphan")
	want := map[string]string{
		"/tree": "entry waits tree:36 ngx.thread.wait [coroutine new orphan resumed:17, " +
			"thread waits branch:25 coroutine.resume [coroutine waits resumed:18 ngx.sleep, thread waits sleep:5 ngx.sleep], " +
			"thread waits sleep:5 ngx.sleep]",
		"/orphan": "entry waits orphan:47 ngx.sleep [thread ended [thread waits sleep:5 ngx.sleep]]",
	}
	nginxtest.Await(t, "light threads", want, func() (map[string]string, error) {
		got := map[string]string{}
		all, err := w.InFlight()
		for _, f := range all {
			if f.URI != "" && f.Threads != nil {
				got[f.URI] = ngxlua.Draw(*f.Threads)
			}
		}
		return got, err
	})
	if n := w.Parents(); n != 1 {
		t.Errorf("%d places may be that of the parent", n)
	}
	all, err := w.InFlight()
	for _, f := range all {
		if f.URI != "/tree" || f.Threads == nil {
			continue
		}
		if n := f.Threads.Count(); n != 5 {
			t.Errorf("%d coroutines beside the entry one", n)
		}
		i := slices.IndexFunc(f.Threads.Children, func(c ngxlua.Thread) bool { return len(c.Children) > 0 })
		j := slices.IndexFunc(f.Threads.Children[i].Children, func(c ngxlua.Thread) bool { return c.Kind == ngxlua.KindThread })
		lines := []string{}
		for _, frame := range f.Threads.Children[i].Children[j].Stack {
			lines = append(lines, fmt.Sprintf("%s:%d", frame.Function, frame.Line))
		}
		if want := []string{"ngx.sleep:0", "sleep:5", "leaf:12", "leaf:14", "leaf:14"}; !slices.Equal(lines, want) {
			t.Errorf("the stack of the inner thread is %v, not %v", lines, want)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// TestTimerGroups: timers by the function that they call, pending or running, and when they are due.
func TestTimerGroups(t *testing.T) {
	w, ask, _ := threaded(t)
	ask("/timers")
	nginxtest.Await(t, "timers", []string{"again:51 1 0", "once:50 40 0", "waits:52 0 3"}, func() (seen []string, err error) {
		requests, err := w.InFlight()
		if err != nil {
			return nil, err
		}
		timers, err := w.LuaTimers()
		timers.Count(requests)
		for _, g := range timers.Functions {
			if path.Base(g.Function.File) != "threads.lua" {
				continue // what the test's nginx was started for
			}
			seen = append(seen, fmt.Sprintf("%s:%d %d %d", g.Function.Function, g.Function.Line, g.Pending, g.Running))
			if g.Pending > 0 && (*g.Next > *g.Last || *g.Last > 5001*time.Second || *g.Next < 100*time.Second) {
				err = fmt.Errorf("%s: due from %v to %v", g.Function.Function, *g.Next, *g.Last)
			}
			if g.Function.Function == "once" && *g.Last-*g.Next != 39*time.Second {
				t.Errorf("40 timers, a second apart, are due from %v to %v", *g.Next, *g.Last)
			}
		}
		if timers.Unread != 0 {
			err = fmt.Errorf("of %d the function was not found", timers.Unread)
		}
		slices.Sort(seen)
		return seen, err
	})
}
