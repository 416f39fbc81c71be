package ngxlua

import (
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/profile"
)

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
		if got := PhaseOf(stack); got != want {
			t.Errorf("%s: %q, want %q", functions, got, want)
		}
	}
}
