package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/profile"
)

func TestAnd(t *testing.T) {
	sample := Sample{Lua: true}
	// A worker that ended early, and one that took its place and failed half of its looks.
	began := time.Unix(1e9, 0)
	one := Looks{Samples: []Sample{sample}, Start: began.Add(time.Second), Elapsed: time.Second, Used: time.Second, CPU: 1, Paused: 2 * time.Millisecond}
	two := Looks{Samples: []Sample{sample}, Failed: 2, Start: began, Elapsed: 3 * time.Second, Paused: 6 * time.Millisecond}
	both := Looks{}.And(one).And(two)
	if len(both.Samples) != 2 || both.Failed != 2 || both.Period() != time.Second || both.Pause != 2*time.Millisecond || both.CPU != 0.25 || !both.Start.Equal(began) {
		t.Errorf("%+v, period %v", both, both.Period())
	}
}

func TestOnly(t *testing.T) {
	l := Looks{Samples: []Sample{
		{}, {Lua: true}, {Asleep: true}, {Asleep: true, Lua: true}, {Halted: true}, {Halted: true, Lua: true},
	}}
	for which, want := range map[string]int{OnCPU: 2, OffCPU: 1, Wall: 6} {
		if n := len(l.Only(which).Samples); n != want {
			t.Errorf("%s: %d samples, want %d", which, n, want)
		}
	}
}

// TestAddTo: equal stacks are one, whatever memory they are in, and labels tell them apart.
func TestAddTo(t *testing.T) {
	stack := func() []profile.Frame {
		return []profile.Frame{
			{Kind: profile.Lua, Function: "f", File: "a.lua", Line: 2, FirstLine: 1},
			{Kind: profile.C, Function: "ngx_http_lua_access_handler", File: "nginx"},
		}
	}
	var shared stacks
	one, other := shared.shared(stack()), stack()
	if &shared.shared(other)[0] != &one[0] {
		t.Error("an equal stack does not share its memory")
	}
	at := func(uri string, stack []profile.Frame) Sample {
		return Sample{Lua: true, State: luajit.Compiled, Request: Request{URI: uri}, Phase: "access", Stack: stack}
	}
	l := Looks{Samples: []Sample{at("/a", one), at("/a", one), at("/a", other), at("/\xff", one), {}}}
	var p profile.Profile
	l.AddTo(&p)
	p.Merge()
	if p.Total() != 5 || len(p.Stacks) != 3 {
		t.Fatalf("%d samples in %d stacks: %+v", p.Total(), len(p.Stacks), p.Stacks)
	}
	first := p.Stacks[0]
	if first.Count != 3 || first.Labels["uri"] != "/a" || first.Labels["phase"] != "access" || first.Labels["state"] != "compiled" ||
		first.Frames[1].Function != "f" {
		t.Errorf("%+v", first)
	}
	if l := p.Stacks[1].Labels["uri"]; l != "/\uFFFD" {
		t.Errorf("a URI that is no UTF-8 is the label %q", l)
	}
}

func TestPause(t *testing.T) {
	for range 100 {
		if p := pause(100, 3*time.Millisecond, 0); p < 2*time.Millisecond || p > 12*time.Millisecond {
			t.Errorf("a look of 3 ms, a hundred times a second: %v", p)
		}
		if p := pause(1000, 3*time.Millisecond, 2*time.Millisecond); p < 40*time.Millisecond {
			t.Errorf("a worker that stood still for 2 ms rests for %v", p)
		}
		if p := pause(1000, time.Second, time.Second); p != 20*time.Second {
			t.Errorf("a worker that stood still for a second rests for %v", p)
		}
	}
}

// TestPhase: the phase is that of the innermost function that tells it.
func TestPhase(t *testing.T) {
	for functions, want := range map[string]string{
		"lua ngx_http_lua_rewrite_by_chunk":                                         "rewrite",
		"lua ngx_http_lua_header_filter_by_chunk ngx_http_core_content_phase":       "header_filter",
		"lua ngx_http_lua_content_wev_handler":                                      "content",
		"lua ngx_http_lua_run_thread so+0x2ce40 ngx_http_core_access_phase":         "access",
		"lua so+0x2ce40 ngx_http_free_request ngx_http_core_content_phase":          "log",
		"lua so+0x2ce40 ngx_event_connect_peer ngx_http_core_content_phase":         "balancer",
		"lua ngx_http_lua_run_thread so+0x47000 ngx_event_expire_timers":            "",
		"ngx_http_write_filter ngx_http_core_content_phase":                         "",
		"lua ngx_stream_lua_run_thread nginx+0x2ce40 ngx_stream_core_preread_phase": "preread",
		"lua ngx_stream_lua_content_handler":                                        "content",
		"lua lua@access_by_lua(nginx.conf:7) ngx_http_lua_run_thread so+0x3dae0":    "access",
		"lua@ssl_certificate_by_lua(nginx.conf:7) ngx_http_lua_run_thread":          "ssl_cert",
		"lua@log_by_lua(nginx.conf:7) ngx_http_lua_content_wev_handler":             "content",
		"lua@content_by_lua(nginx.conf:7) lua@handler.lua ngx_http_lua_run_thread":  "",
		"lua@my_by_lua(x) ngx_http_lua_run_thread":                                  "",
		"ngx_http_lua_ffi_exec_regex lua ngx_http_lua_ssl_sess_fetch_handler_file":  "ssl_sess_fetch",
	} {
		var stack []profile.Frame
		for _, name := range strings.Fields(functions) {
			f := profile.Frame{Kind: profile.C, Function: name}
			if lua, file, _ := strings.Cut(name, "@"); lua == "lua" {
				f.Kind, f.File = profile.Lua, file
			}
			stack = append(stack, f)
		}
		if got := phaseOf(stack); got != want {
			t.Errorf("%s: %q, want %q", functions, got, want)
		}
	}
}
