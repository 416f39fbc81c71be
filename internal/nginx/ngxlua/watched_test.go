package ngxlua_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	ngx "github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// startNginx starts an nginx with Lua and more of a configuration, in its http block and in its server's; its Lua runs in testdata.
func startNginx(t *testing.T, conf, server string) (pid int, client *http.Client) {
	t.Helper()
	return nginxtest.Start(t, nginxtest.Conf{Dir: "testdata", HTTP: conf, Server: server})
}

// watched starts an nginx that serves testdata/watched.lua.
func watched(t *testing.T) (w *worker.Worker, client *http.Client) {
	t.Helper()
	location := func(path, phase string) string {
		return fmt.Sprintf(`location = /%s { %s_by_lua_block { require("watched").%s() } }`, path, phase, path)
	}
	pid, client := startNginx(t, `lua_package_path "$prefix/?.lua;./?.lua;;"; lua_shared_dict full 100k; lua_shared_dict empty 1m;`,
		`location = /access { access_by_lua_block { require("watched").sleep() } content_by_lua_block { ngx.say("none") } }
		 location = /content { content_by_lua_block { require("watched").sleep() } }
		 location = /inner { content_by_lua_block { require("watched").sleep() } }`+
			location("thread", "content")+location("capture", "content")+location("timers", "content")+
			location("blacklist", "content")+location("fill", "content")+location("truth", "content")+
			location("keep", "content")+location("hold", "content"))
	return workertest.Open(t, pid), client
}

// truth is what nginx says of itself, at /truth.
type truth struct {
	Free, Capacity, Keys              int
	EmptyFree                         int `json:"empty_free"`
	Pending, Running                  int
	Active, Reading, Writing, Waiting int
	Heap                              int
}

func truthOf(t *testing.T, client *http.Client) (said truth) {
	t.Helper()
	text := nginxtest.Get(t, client, "/truth").Get("Truth")
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return said
}

// TestInFlight: requests that wait in several phases, each with its line.
func TestInFlight(t *testing.T) {
	w, client := watched(t)
	for _, path := range []string{"/access", "/content", "/thread", "/capture"} {
		nginxtest.Begin(t, client, path)
	}
	nginxtest.Get(t, client, "/timers")
	began := time.Now()
	want := []string{
		"/access access sleep:5 ngx.sleep", "/capture content capture:18 ngx.location.capture", "/content content sleep:5 ngx.sleep",
		"/thread content inner:9 ngx.sleep or thread:14 ngx.thread.wait", " timer tick:22 ngx.sleep",
	}
	slices.Sort(want)
	nginxtest.Await(t, "in flight", want, func() (seen []string, err error) {
		all, err := w.InFlight()
		for _, f := range all {
			if strings.HasPrefix(f.URI, "/") && f.Method != http.MethodGet {
				err = fmt.Errorf("method %q of %s", f.Method, f.URI)
			}
			if f.Lua == nil || f.Running || !strings.HasSuffix(f.Lua.File, "watched.lua") {
				continue // what nginx was started for
			}
			at := fmt.Sprintf("%s %s %s:%d %s", f.URI, f.Phase, strings.TrimPrefix(f.Lua.Function, "_M."), f.Lua.Line, f.Waits)
			if f.URI == "/thread" && (strings.HasSuffix(at, "inner:9 ngx.sleep") || strings.HasSuffix(at, "thread:14 ngx.thread.wait")) {
				at = want[slices.IndexFunc(want, func(s string) bool { return strings.HasPrefix(s, "/thread") })]
			}
			seen = append(seen, at)
		}
		slices.Sort(seen)
		return seen, err
	})
	all, err := w.InFlight()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		// nginx's clock is of its loop's last turn, and coarse.
		if age := time.Since(began); f.URI != "" && (f.Age <= 0 || f.Age > age+time.Minute) {
			t.Errorf("%s is %v old; all began about %v ago", f.URI, f.Age, age)
		}
	}
	if !slices.IsSortedFunc(all, func(a, b ngxlua.InFlight) int { return int(b.Age - a.Age) }) {
		t.Error("the oldest is not the first")
	}
}

// TestInFlightHTTP2: requests on one connection; in two Lua waits, many are proxied to a server that never
// answers, and others have ended.
func TestInFlightHTTP2(t *testing.T) {
	socket, silent := filepath.Join(t.TempDir(), "s"), filepath.Join(t.TempDir(), "silent")
	server, err := net.Listen("unix", silent)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	pid, _ := startNginx(t, fmt.Sprintf(`lua_package_path "$prefix/?.lua;./?.lua;;"; lua_shared_dict full 100k; lua_shared_dict empty 1m;
		server { listen unix:%s http2;
			location / { access_by_lua_block { require("watched").sleep() } }
			location = /content { content_by_lua_block { require("watched").sleep() } }
			location = /done { return 200; }
			location = /proxied { proxy_pass http://unix:%s; }
		}`, socket, silent), "")
	w := workertest.Open(t, pid)
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
		Protocols: new(http.Protocols),
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: transport, Timeout: 2 * time.Minute}
	nginxtest.Begin(t, client, "/content")
	nginxtest.Begin(t, client, "/other")
	for range 20 {
		nginxtest.Get(t, client, "/done")
	}
	const proxied = 40 // more than nginx has lists of streams
	for range proxied {
		nginxtest.Begin(t, client, "/proxied")
	}
	want := append(slices.Repeat([]string{"GET /proxied  0"}, proxied), "GET /content content 5", "GET /other access 5")
	slices.Sort(want)
	nginxtest.Await(t, "in flight", want, func() (seen []string, err error) {
		all, err := w.InFlight()
		for _, f := range all {
			line := 0
			if f.Lua != nil {
				line = f.Lua.Line
			}
			if f.URI != "" {
				seen = append(seen, fmt.Sprintf("%s %s %s %d", f.Method, f.URI, f.Phase, line))
			}
			if f.URI != "" && f.Age <= 0 {
				err = fmt.Errorf("%s is %v old", f.URI, f.Age)
			}
		}
		slices.Sort(seen)
		return seen, err
	})
}

// TestZones: shared memory is as full as the dictionaries say.
func TestZones(t *testing.T) {
	w, client := watched(t)
	zone := func(name string) (ngx.Zone, error) {
		all, err := w.Nginx.Zones()
		i := slices.IndexFunc(all, func(z ngx.Zone) bool { return z.Name == name })
		if i < 0 {
			return ngx.Zone{}, fmt.Errorf("no zone %s among %d: %w", name, len(all), err)
		}
		return all[i], err
	}
	empty, err := zone("full")
	if err != nil {
		t.Fatal(err)
	}
	nginxtest.Get(t, client, "/fill")
	said := truthOf(t, client)
	full, err := zone("full")
	if err != nil {
		t.Fatal(err)
	}
	if int(full.Free) != said.Free || int(full.Size) != said.Capacity || full.Module != "ngx_http_lua_module" {
		t.Errorf("%+v, but the dictionary says %+v", full, said)
	}
	// What an empty dictionary takes, for itself, is not among its entries.
	if int(full.Pieces-empty.Pieces) != said.Keys {
		t.Errorf("%d pieces more than when it was empty, %d entries", full.Pieces-empty.Pieces, said.Keys)
	}
	if full.Failed == 0 || empty.Failed != 0 || full.Fill() < 0.9 {
		t.Errorf("2000 entries did not fit, but %+v", full)
	}
	if other, err := zone("empty"); err != nil || int(other.Free) != said.EmptyFree || other.Fill() > 0.1 {
		t.Errorf("%+v, %v, but the dictionary says %d", other, err, said.EmptyFree)
	}
}

// TestLuaTimers: as many as ngx.timer counts, and the next one is due when it was set for.
func TestLuaTimers(t *testing.T) {
	w, client := watched(t)
	before, err := w.LuaTimers()
	if err != nil || before.Pending != 0 {
		t.Errorf("none was set, but %+v, %v", before, err)
	}
	nginxtest.Get(t, client, "/timers")
	nginxtest.Await(t, "timers", [2]int{3, before.Running + 1}, func() ([2]int, error) {
		said := truthOf(t, client)
		got, err := w.LuaTimers()
		if got.Pending != said.Pending || got.Running != said.Running {
			return [2]int{}, fmt.Errorf("%+v, but ngx.timer says %+v", got, said)
		}
		return [2]int{got.Pending, got.Running}, err
	})
	got, err := w.LuaTimers()
	if err != nil || got.MostPending != 1024 || got.MostRunning != 256 || got.Events < 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if got.Next == nil || *got.Next > time.Hour+time.Second || *got.Next < time.Hour-5*time.Minute {
		t.Errorf("the next one is due in an hour, not in %v", got.Next)
	}
	if f := got.NextFunction; f == nil || f.Function != "tick" || f.Line != 21 {
		t.Errorf("it calls tick, line 21, not %+v", f)
	}
}

// TestCounters: connections as nginx counts them.
func TestCounters(t *testing.T) {
	w, client := watched(t)
	before, _, err := w.Nginx.Connections()
	began, err2 := w.Nginx.Counters()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		nginxtest.Begin(t, client, "/content")
	}
	// Five requests wait, the one that asks is being answered.
	var said truth
	nginxtest.Await(t, "writing", 6, func() (int, error) { said = truthOf(t, client); return said.Writing, nil })
	// Its connection is kept alive.
	nginxtest.Await(t, "counters", ngx.Counters{Active: uint64(said.Active), Writing: 5, Waiting: uint64(said.Active) - 5}, func() (ngx.Counters, error) {
		c, err := w.Nginx.Counters()
		if c.Requests < 6 || c.Accepted < 6 {
			return c, fmt.Errorf("%d requests, %d connections", c.Requests, c.Accepted)
		}
		c.Requests, c.Accepted = 0, 0
		return c, err
	})
	requests, err := w.Nginx.Counters()
	if err != nil {
		t.Fatal(err)
	}
	for range 7 {
		truthOf(t, client)
	}
	if after, err := w.Nginx.Counters(); err != nil || after.Requests-requests.Requests != 7 {
		t.Errorf("seven requests, %d were counted, %v", after.Requests-requests.Requests, err)
	}
	// What nginx has for itself, as listening sockets, stays as it was.
	after, limit, err := w.Nginx.Connections()
	if want := before - int(began.Active) + said.Active; after != want || limit != 64 || err != nil {
		t.Errorf("%d connections of %d in use, want %d of 64; %v", after, limit, want, err)
	}
}

// TestJIT: what LuaJIT gave up is named with its line and its reason.
func TestJIT(t *testing.T) {
	w, client := watched(t)
	nginxtest.Get(t, client, "/blacklist")
	const line = 33
	j, err := w.VM.JIT()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, a := range j.Aborts {
		if strings.HasSuffix(a.File, "watched.lua") && a.Line == line && a.Loop {
			found = true
			if !a.Blacklisted || !strings.HasPrefix(a.Reason, "NYI: bytecode") {
				t.Errorf("%+v", a)
			}
		}
	}
	if !found {
		t.Errorf("line %d is not among %+v", line, j.Aborts)
	}
	list, err := w.VM.Blacklist(time.Minute)
	if err != nil || !list.Whole {
		t.Fatalf("%+v, %v", list, err)
	}
	found = false
	for _, p := range list.Places {
		found = found || strings.HasSuffix(p.File, "watched.lua") && p.Line == line && p.Loop
	}
	if !found {
		t.Errorf("line %d is not among %+v", line, list.Places)
	}
	if traces := w.VM.TraceCount(); traces != j.Root+j.Side || traces > 0 && (j.Code == 0 || j.Area < j.Code) {
		t.Errorf("%d traces, %+v", traces, j)
	}
	said := truthOf(t, client)
	gc, err := w.VM.GC()
	if err != nil || gc.Stopped() || gc.InUse < uint64(said.Heap)/2 || gc.InUse > 2*uint64(said.Heap) || gc.Phase.String() == "unknown" {
		t.Errorf("%+v, %v; collectgarbage says %d bytes", gc, err, said.Heap)
	}
}
