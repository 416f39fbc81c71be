package shares

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/sample"
	"github.com/moonlap/moonlap/internal/ui"
)

var (
	main    = profile.Frame{Kind: profile.C, Function: "main", File: "nginx"}
	handler = profile.Frame{Kind: profile.Lua, Function: "handler", File: "/srv/app.lua", FirstLine: 20, Line: 24}
	deflate = profile.Frame{Kind: profile.C, Function: "deflate", File: "libz.so.1"}
)

// TestNoRequest: samples without a path are told apart by their phase.
func TestNoRequest(t *testing.T) {
	for want, s := range map[string]sample.Sample{
		"GET /a":                                               {Phase: "content", Request: ngxlua.Request{Method: "GET", URI: "/a"}},
		"no request: timer":                                    {Phase: "timer"},
		"no request: ssl_cert":                                 {Phase: "ssl_cert"},
		"no request: a timer, say":                             {},
		"a session of stream, or its timer":                    {Machine: "stream"},
		"not known: its text could not be read":                {Phase: "content"},
		"not known: samples before the first request was read": {Phase: "content", Request: ngxlua.Request{Unread: true}},
	} {
		if got := Request(s); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
}

// TestBelongs: whose time it was, by phase and by plugin or module.
func TestBelongs(t *testing.T) {
	access := profile.Frame{Kind: profile.C, Function: "ngx_http_core_access_phase", File: "nginx"}
	plugin := profile.Frame{Kind: profile.Lua, Function: "check", File: "/usr/share/lua/5.1/kong/plugins/jwt/handler.lua", FirstLine: 1, Line: 2}
	e := Of(sample.Series{Samples: []sample.Sample{
		{Lua: true, Phase: "access", Stack: []profile.Frame{plugin, access, main}}, {Lua: true, Stack: []profile.Frame{handler, main}},
		{Lua: true, Phase: "access", Stack: []profile.Frame{plugin, access, main}}, {Stack: []profile.Frame{deflate, access, main}},
	}})
	if diff := cmp.Diff([]evidence.Share{{Name: "access", Share: 0.5}}, e.Phases); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]evidence.Share{{Name: "kong plugin jwt", Share: 0.5}, {Name: "app", Share: 0.25}}, e.Plugins); diff != "" {
		t.Error(diff)
	}
}

// TestWaits: a wait for a lock counts by its time, as lines do.
func TestWaits(t *testing.T) {
	wait := sample.Sample{Lua: true, Asleep: true, Lock: "cats", Stack: []profile.Frame{handler, main},
		Sleep: &sample.Sleep{Call: "futex", Cause: sample.Lock, For: 4 * time.Millisecond}}
	l := sample.Series{Timed: true, Every: 52 * time.Millisecond, Samples: []sample.Sample{wait, {Lua: true, Stack: []profile.Frame{handler, main}}}}
	waits, lines := locks.WaitsOf(l), Of(l).Lines
	if waits == nil || len(waits.Lines) != 1 || waits.Lines[0].Zone != "cats" || waits.Lines[0].Line != "handler@app.lua:24" || waits.Lines[0].Samples != 1 ||
		waits.Lines[0].Share != waits.Lines[0].Asleep || waits.Lines[0].Share < 0.07 || waits.Lines[0].Share > 0.072 { // 4 of 56 ms
		t.Errorf("%+v", waits)
	}
	if lines[0].Name != "handler@app.lua:24" || lines[0].Share < 0.99 {
		t.Errorf("%+v", lines)
	}
}

// TestMerge: both together are as if all samples had been taken together.
func TestMerge(t *testing.T) {
	lua, idle := sample.Sample{Lua: true, Phase: "access", Stack: []profile.Frame{handler, main}}, sample.Sample{Asleep: true, Stack: []profile.Frame{main}}
	other := sample.Sample{Lua: true, State: luajit.Compiled, Stack: []profile.Frame{deflate, handler, main}}
	a, b := []sample.Sample{lua, lua, idle}, []sample.Sample{other}
	both := Of(sample.Series{Samples: append(append([]sample.Sample{}, a...), b...)})
	merged := Of(sample.Series{Samples: a}).Merge(Of(sample.Series{Samples: b}))
	near := cmp.Comparer(func(x, y float64) bool { return x-y < 1e-9 && y-x < 1e-9 })
	if diff := cmp.Diff(evidence.Result(both), merged, near); diff != "" {
		t.Error(diff)
	}
}

// TestText: a section of one row would be three lines for one figure.
func TestText(t *testing.T) {
	r := &Result{
		Lines:    []evidence.Share{{Name: "f@a.lua:3", Share: 0.8}},
		States:   []evidence.Share{{Name: "compiled", Share: 0.6}, {Name: "interpreted", Share: 0.4}},
		Requests: []evidence.Share{{Name: "GET /busy", Share: 0.8}}, Phases: []evidence.Share{{Name: "content", Share: 1}},
	}
	p := ui.NewPage(ui.Options{Width: 80})
	r.Text(p, "")
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := `
Lua lines
   80 %  f@a.lua:3

parts
  states   60 % compiled; 40 % interpreted
  requests 80 % GET /busy
  phases   100 % content
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
