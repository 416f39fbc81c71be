package sample

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
)

// watch watches the worker again and again until what was seen is wanted.
func watch(t *testing.T, w *Worker, s *Sampler, wants Wants, wanted func(Series) bool) {
	t.Helper()
	var seen []string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		l, err := w.Watch(t.Context(), s, 300*time.Millisecond, wants, noTick)
		if err != nil {
			t.Fatal(err)
		}
		if wanted(l) {
			return
		}
		for _, x := range l.Samples {
			if x.Lua {
				seen = append(seen, fmt.Sprintf("%+v %v", x.Sleep, describe(x.Stack)))
			}
		}
		for _, x := range l.Stalls {
			seen = append(seen, fmt.Sprintf("a turn of %v with %d samples", x.Length, len(x.Samples)))
		}
	}
	t.Errorf("not in 30 s; the last ones were\n%s", strings.Join(seen[max(0, len(seen)-5):], "\n"))
}

// A block is what puts a worker to sleep: the request, what it sleeps for, how long at least in one turn of
// the event loop, and the frames of the stack.
type block struct {
	path  string
	call  string
	cause Cause
	least time.Duration
	stack []string
}

var blocks = []block{
	{"/blocked", "wait4", Program, 200 * time.Millisecond, []string{"os.execute", "main chunk:56", "ngx_http_lua_run_thread", "main"}},
	{"/usleep", "clock_nanosleep", Pause, 20 * time.Millisecond, []string{"usleep", "main chunk:107", "ngx_http_lua_run_thread", "main"}},
	{"/traced", "clock_nanosleep", Pause, 300 * 100 * time.Microsecond, []string{"usleep", "main chunk:109 j", "ngx_http_lua_run_thread", "main"}},
	{"/pipe", "read", Network, 10 * time.Millisecond, []string{"file:read", "main chunk:113", "ngx_http_lua_run_thread", "main"}},
}

// find watches the worker, which is under its load, until the block is among what is reported.
func (b block) find(t *testing.T, w *Worker, s *Sampler) {
	t.Helper()
	is := func(x Sample) bool {
		return x.Sleep != nil && x.Sleep.Call == b.call && x.Sleep.Cause == b.cause && x.Asleep && x.Lua && x.Request.URI == b.path &&
			x.Partial == nil && has(x.Stack, b.stack)
	}
	watch(t, w, s, Wants{Turns: time.Millisecond}, func(l Series) bool {
		if !slices.ContainsFunc(l.Samples, is) {
			return false
		}
		for _, stall := range l.Stalls {
			var asleep time.Duration
			for _, x := range stall.Samples {
				if is(x) {
					asleep += x.Sleep.For
				}
			}
			if asleep > 0 && asleep >= b.least && stall.Slept >= asleep && stall.Length >= stall.Slept+stall.Queued {
				return true
			}
		}
		return false
	})
}

// TestSleeps: what blocks is found with its line, request and cause, asleep for as long as it is at least, and
// the turn of the event loop that it stops with it.
func TestSleeps(t *testing.T) {
	s := sampler(t)
	pid, client := nginx(t)
	w := open(t, pid)
	for _, b := range blocks {
		t.Run(b.path[1:], func(t *testing.T) {
			defer nginxtest.Request(t, client, b.path)()
			b.find(t, w, s)
		})
	}
	t.Run("busy", func(t *testing.T) {
		defer nginxtest.Request(t, client, "/busy")()
		watch(t, w, s, Wants{Hz: 500, Turns: 30 * time.Millisecond}, func(l Series) bool {
			for _, stall := range l.Stalls {
				if stall.Computed() >= 20*time.Millisecond && stall.Events > 0 && slices.ContainsFunc(stall.Samples, func(x Sample) bool {
					return x.Sleep == nil && x.Request.URI == "/busy" &&
						(has(x.Stack, []string{"main chunk:123", "main"}) || has(x.Stack, []string{"main chunk:123 j", "main"}))
				}) {
					if r := l.Rest; r.Turns.Count == 0 || r.Turns.Longest < stall.Length || r.Turns.Percentile(100) < r.Turns.Longest*30/32 {
						t.Errorf("%d turns, the longest %v or %v, of one of %v", r.Turns.Count, r.Turns.Longest, r.Turns.Percentile(100), stall.Length)
					}
					return true
				}
			}
			return false
		})
	})
	// A lock that is held for longer than is looked: that the sleep has not ended is no reason to say nothing.
	t.Run("flock", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "lock")
		held, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		ended := make(chan bool)
		go func() {
			defer close(ended)
			if res, err := client.Get("http://worker/flock?file=" + name); err == nil {
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		}()
		long := 50 * time.Millisecond
		watch(t, w, s, Wants{Turns: long}, func(l Series) bool {
			for _, x := range l.Samples {
				if x.Sleep != nil && x.Sleep.Call == "flock" && x.Sleep.Cause == Locked && x.Sleep.For > 0 && has(x.Stack, []string{"main chunk:118", "main"}) {
					held.Close()
					return true
				}
			}
			return false
		})
		held.Close() // also when that was never seen
		<-ended
	})
}

// TestNoSleeps: what gives way to the event loop is not told, nor that the loop waits for events.
func TestNoSleeps(t *testing.T) {
	s := sampler(t)
	pid, client := blocking(t)
	w := open(t, pid)
	for _, path := range []string{"/asleep", "/cosocket", "/blocks/timer"} {
		res, err := client.Get("http://worker" + path) // it works, and the code is loaded
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(path, res, err)
		}
		res.Body.Close()
		stop := nginxtest.Request(t, client, path)
		l, err := w.Watch(t.Context(), s, time.Second, Wants{Sleeps: true}, noTick)
		stop()
		if err != nil {
			t.Fatal(err)
		}
		if l.Rest.Idle == 0 {
			t.Errorf("%s: it never waited for events: %+v", path, l.Rest.Idle)
		}
		for _, x := range l.Samples {
			// A page may be read from a disk on any machine that is short of memory.
			if c := x.Sleep.Cause; c != Fault && c != Disk && c != Memory {
				t.Errorf("%s: asleep in %s for %v: %v", path, x.Sleep.Call, x.Sleep.For, describe(x.Stack))
			}
		}
	}
}

func TestCause(t *testing.T) {
	for call, want := range map[int]string{-1: "page fault, a page fault", 61: "wait4, a program", 0: "read, a socket or pipe", 9999: "system call 9999, something else"} {
		if name, cause := causeOf(call, 1); name+", "+string(cause) != want {
			t.Errorf("%d: %s, %s", call, name, cause)
		}
	}
	if _, cause := causeOf(0, 2); cause != Disk {
		t.Errorf("an uninterruptible read waits for %s", cause)
	}
}
