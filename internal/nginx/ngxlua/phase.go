package ngxlua

import (
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/profile"
)

// luaPhases are the phases as the Lua module names its functions.
var luaPhases = []string{
	"set", "rewrite", "server_rewrite", "access", "content", "log", "header_filter", "body_filter", "balancer",
	"preread", "ssl_cert", "ssl_client_hello", "ssl_sess_fetch", "ssl_sess_store", "init_worker", "exit_worker", "timer",
}

// nginxPhases are functions that every nginx exports, and the phase of Lua that they call. The Lua
// module's own ones in between may have no name, or have left the stack.
var nginxPhases = map[string]string{
	"ngx_http_core_rewrite_phase": "rewrite",
	"ngx_http_core_access_phase":  "access",
	"ngx_http_core_content_phase": "content",
	"ngx_event_connect_peer":      "balancer",
	"ngx_http_free_request":       "log",

	"ngx_stream_core_preread_phase": "preread",
	"ngx_stream_core_content_phase": "content",
}

// chunkPhases are phases that the Lua module calls otherwise where it names the code of nginx.conf.
var chunkPhases = map[string]string{
	"ssl_certificate": "ssl_cert", "ssl_session_fetch": "ssl_sess_fetch", "ssl_session_store": "ssl_sess_store",
}

// PhaseOf reads the phase of a request off the C functions that run its Lua code, for where its context does not tell.
// Where they don't say it, as after Lua has waited for something, the outermost Lua function does if it stands in
// nginx.conf: content_by_lua(nginx.conf:12). Else it is "".
func PhaseOf(stack []profile.Frame) string {
	lua := false
	outermost := ""
	for _, f := range stack {
		if f.Kind != profile.C {
			if f.Kind == profile.Lua {
				lua, outermost = true, f.File
			}
			continue
		}
		if phase := nginxPhases[f.Function]; lua && phase != "" {
			return phase
		}
		name, ok := strings.CutPrefix(f.Function, "ngx_http_lua_")
		if !ok {
			if name, ok = strings.CutPrefix(f.Function, "ngx_stream_lua_"); !ok {
				continue
			}
		}
		for _, phase := range luaPhases {
			if strings.HasPrefix(name, phase+"_by") || strings.HasPrefix(name, phase+"_handler") ||
				strings.HasPrefix(name, phase+"_wev_handler") { // goes on after it has waited
				return phase
			}
		}
	}
	phase, _, ok := strings.Cut(outermost, "_by_lua(")
	if other := chunkPhases[phase]; other != "" {
		phase = other
	}
	if ok && slices.Contains(luaPhases, phase) {
		return phase
	}
	return ""
}
