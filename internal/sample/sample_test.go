package sample

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/process/processtest"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

var save = flag.String("save", "", "`FOLDER` to save an image of each scene's Lua machine in")

// nginx starts an nginx with Lua, see workertest.App.
func nginx(t *testing.T) (pid int, client *http.Client) { return nginxWith(t, "", "") }

// nginxWith is nginx with more of a configuration, in its http block and in its server's.
func nginxWith(t *testing.T, conf, server string) (pid int, client *http.Client) {
	t.Helper()
	return workertest.App(t, nginxtest.Conf{HTTP: conf, Server: server})
}

// open opens the worker, or skips the test where that is not allowed.
func open(t *testing.T, pid int) *Worker {
	t.Helper()
	return Of(workertest.Open(t, pid))
}

// Scenes are what a worker does at a snapshot: a request, and the frames that its stack must have, the
// innermost first; others may stand between them. The lines are those of testdata/app.lua.
var scenes = []struct {
	name, path string
	state      luajit.State
	frames     []string
}{
	{"compiled", "/compiled", luajit.Compiled, []string{"sum:13 j", "main chunk:53", "ngx_http_lua_run_thread", "main"}},
	{"interpreted", "/interpreted", luajit.Interpreted, []string{"slow:22", "main chunk:54", "ngx_http_lua_run_thread", "main"}},
	{"builtin", "/interpreted", luajit.InC, []string{"string.format", "slow:22", "main chunk:54", "main"}},
	{"collect", "/garbage", luajit.Collect, []string{"garbage:31", "main chunk:55", "main"}},
	{"blocked", "/blocked", luajit.InC, []string{"os.execute", "main chunk:56", "ngx_http_lua_run_thread", "main"}},
	{"helper", "/helper", luajit.Compiled, []string{"helper:40 j", "main chunk:57", "main"}},
	{"called", "/nap", luajit.Compiled, []string{"usleep", "nap:141 j", "main chunk:146 j", "ngx_http_lua_run_thread", "main"}},
	{"coroutine", "/coroutine", luajit.Compiled, []string{"sum:13 j", ":46"}},
	{"resumes", "/resumes", luajit.Compiled, []string{"sum:13 j", ":96", "resumes:97", "main chunk:99", "ngx_http_lua_run_thread", "main"}},
}

func TestScenes(t *testing.T) {
	pid, client := nginx(t)
	w := open(t, pid)
	for _, scene := range scenes {
		t.Run(scene.name, func(t *testing.T) {
			defer nginxtest.Request(t, client, scene.path)()
			var last string
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
				if *save != "" { // what snapshots say, of traces that nothing is known of yet
					w = open(t, pid)
					w.VM.Layout.KnownIR = false
				}
				recorder := &processtest.Recorder{Memory: w.Process}
				w.VM.Memory = recorder
				s, err := w.Sample()
				w.VM.Memory = w.Process
				if err != nil {
					last = err.Error()
					continue
				}
				if s.State == scene.state && s.Partial == nil && has(s.Stack, scene.frames) {
					if s.Request.Method != http.MethodGet || s.Request.URI != scene.path {
						t.Errorf("the request is %q %q", s.Request.Method, s.Request.URI)
					}
					saveImage(t, w, recorder, scene.name)
					return
				}
				if s.Lua {
					last = fmt.Sprintf("%v %v", s.State, describe(s.Stack))
				}
			}
			t.Errorf("no such moment in 20 s; the last one was\n%s", last)
		})
	}
}

// TestDeep: a recursion of thousands of functions is shown by its ends.
func TestDeep(t *testing.T) {
	pid, client := nginx(t)
	w := open(t, pid)
	defer nginxtest.Request(t, client, "/deep")()
	frames := []string{"slow:22", "deep:62", luajit.LeftOut, "deep:62", "pcall", "main chunk:65", "ngx_http_lua_run_thread", "main"}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		s, err := w.Sample()
		if err == nil && s.Partial == nil && has(s.Stack, frames) {
			if len(s.Stack) > 2*maxLua+2*128 {
				t.Errorf("%d frames", len(s.Stack))
			}
			return
		}
	}
	t.Error("no such moment in 20 s")
}

// TestClosures: each request makes the same closures anew, so that LuaJIT compiles for their prototypes.
// Samples of such a trace come to something.
func TestClosures(t *testing.T) {
	pid, client := nginx(t)
	w := open(t, pid)
	for range 20 {
		if res, err := client.Get("http://worker/none"); err == nil {
			res.Body.Close()
		}
	}
	defer nginxtest.Request(t, client, "/compiled")()
	compiled, failed, inlined := 0, 0, 0
	for end := time.Now().Add(20 * time.Second); compiled+failed < 100 && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		s, err := w.Sample()
		switch {
		case err != nil:
			failed++
		case s.State == luajit.Compiled:
			compiled++
			if has(s.Stack, []string{"mix:5 j", "sum:13 j", "main chunk:53"}) {
				inlined++
			}
		}
	}
	if failed > compiled/10 || inlined == 0 {
		t.Errorf("%d looks into compiled code, %d of them into the inlined function; %d failed", compiled, inlined, failed)
	}
}

// TestTurn: nginx's clock stands still while one run of Lua holds the worker, and goes on between runs.
func TestTurn(t *testing.T) {
	pid, client := nginx(t)
	w := open(t, pid)
	turns := func() map[uint64]bool {
		seen := map[uint64]bool{}
		for range 20 {
			if s, err := w.Sample(); err == nil && s.Lua {
				seen[s.Turn] = true
			}
			time.Sleep(2 * time.Millisecond)
		}
		return seen
	}
	await := func(what string, holds func(map[uint64]bool) bool) {
		t.Helper()
		var seen map[uint64]bool
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
			if seen = turns(); holds(seen) {
				return
			}
		}
		t.Errorf("%s: not within 20 s: %v", what, seen)
	}
	stop := nginxtest.Request(t, client, "/compiled")
	await("many requests", func(seen map[uint64]bool) bool { return len(seen) > 1 })
	stop()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://worker/endless", nil)
		if res, err := client.Do(req); err == nil {
			res.Body.Close()
		}
	}()
	await("one request", func(seen map[uint64]bool) bool { return len(seen) == 1 })
}

// has reports whether the stack has the frames in this order.
func has(stack []profile.Frame, frames []string) bool {
	for _, f := range describe(stack) {
		if len(frames) > 0 && like(f, frames[0]) {
			frames = frames[1:]
		}
	}
	return len(frames) == 0
}

// like reports that a frame is the wanted one: a compiled one's line counts where images are not saved, as these have ranges.
func like(frame, wanted string) bool {
	one, line, compiled := strings.Cut(wanted, ":")
	if *save == "" || !compiled || !strings.HasSuffix(line, " j") {
		return frame == wanted
	}
	return strings.HasPrefix(frame, one+":") && strings.HasSuffix(frame, " j")
}

// describe writes each frame as function:line, with a j behind it where it is compiled.
func describe(stack []profile.Frame) []string {
	var all []string
	for _, f := range stack {
		d := f.Function
		if f.Kind == profile.Lua {
			d += fmt.Sprint(":", f.Line)
		}
		if f.Compiled {
			d += " j"
		}
		all = append(all, d)
	}
	return all
}

// saveImage saves the Lua VM's memory as far as the sample has read it.
func saveImage(t *testing.T, w *Worker, r *processtest.Recorder, name string) {
	if *save == "" {
		return
	}
	vm := *w.VM
	vm.Memory = nil
	about, err := json.Marshal(vm)
	if err != nil {
		t.Fatal(err)
	}
	image := r.Image(w.registers)
	image.About = about
	var b bytes.Buffer
	if err := image.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*save, name+".image"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLook: a worker is watched while it serves, goes on serving, and ends under the watcher.
func TestLook(t *testing.T) {
	pid, client := nginx(t)
	w := open(t, pid)
	stop := nginxtest.Request(t, client, "/compiled")
	looks, err := w.Poll(t.Context(), 300*time.Millisecond, 100, func(time.Duration) {})
	stop()
	if err != nil || len(looks.Samples) == 0 {
		t.Fatalf("%d samples, %d failed, %v", len(looks.Samples), looks.Failed, err)
	}
	// Seldom is not late: the looks end with their time, here long before a second one.
	looks, err = w.Poll(t.Context(), time.Second/1000, 1e-6, func(time.Duration) {})
	if n := len(looks.Samples) + looks.Failed; n != 1 { // a single one may fail
		t.Errorf("a look a day: %d looks, %v", n, err)
	}
	if res, err := client.Get("http://worker/none"); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("it does not serve any more: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	seen := 0
	_, err = w.Poll(ended, time.Minute, 100, func(time.Duration) {
		if seen++; seen == 3 {
			end()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	p, _ := os.FindProcess(pid)
	seen = 0
	looks, err = w.Poll(t.Context(), time.Minute, 100, func(time.Duration) {
		if seen++; seen == 3 {
			p.Kill()
		}
	})
	if err == nil || len(looks.Samples) < 2 {
		t.Errorf("a worker that was killed: %v, %d samples", err, len(looks.Samples))
	}
}
