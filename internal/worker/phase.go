package worker

import (
	"strings"

	"github.com/moonlap/moonlap/internal/luajit"
)

// luaPhases are the phases as the Lua module names its functions.
var luaPhases = []string{
	"set", "rewrite", "server_rewrite", "access", "content", "log", "header_filter", "body_filter", "balancer",
	"ssl_cert", "ssl_client_hello", "ssl_sess_fetch", "ssl_sess_store", "init_worker", "exit_worker", "timer",
}

// nginxPhases are functions that every nginx exports, and the phase of Lua that they call. The Lua
// module's own ones in between may have no name, or have left the stack.
var nginxPhases = map[string]string{
	"ngx_http_core_rewrite_phase": "rewrite",
	"ngx_http_core_access_phase":  "access",
	"ngx_http_core_content_phase": "content",
	"ngx_event_connect_peer":      "balancer",
	"ngx_http_free_request":       "log",
}

// Phase reads the phase of a request off the C functions that run its Lua code; "" where they don't
// say it.
func Phase(stack []Frame) string {
	lua := false
	for _, f := range stack {
		if f.Kind != luajit.C {
			lua = lua || f.Kind == luajit.Lua
			continue
		}
		if phase := nginxPhases[f.Function]; lua && phase != "" {
			return phase
		}
		name, ok := strings.CutPrefix(f.Function, "ngx_http_lua_")
		if !ok {
			continue
		}
		for _, phase := range luaPhases {
			if strings.HasPrefix(name, phase+"_by") || strings.HasPrefix(name, phase+"_handler") ||
				strings.HasPrefix(name, phase+"_wev_handler") { // goes on after it has waited
				return phase
			}
		}
	}
	return ""
}
