package profile

import "testing"

func TestModule(t *testing.T) {
	lua := func(files ...string) (frames []Frame) {
		frames = []Frame{cMain}
		for _, f := range files {
			frames = append(frames, Frame{Function: "f", File: f, Kind: Lua})
		}
		return append(frames, format)
	}
	for want, frames := range map[string][]Frame{
		"":                             {cMain},
		"app":                          lua("content_by_lua(nginx.conf:3)", "/srv/app.lua"),
		"content_by_lua(nginx.conf:3)": lua("content_by_lua(nginx.conf:3)"),
		"resty.core.regex":             lua("/srv/app.lua", "/usr/local/openresty/lualib/resty/core/regex.lua"),
		"pl.path":                      lua("/usr/local/share/lua/5.1/pl/path.lua"),
		"kong.db":                      lua("/usr/local/share/lua/5.1/kong/db/init.lua"),
		"kong plugin key-auth":         lua("/usr/local/share/lua/5.1/kong/runloop/handler.lua", "/usr/local/share/lua/5.1/kong/plugins/key-auth/handler.lua", "/usr/share/lua/5.1/cjson/safe.lua"),
		"apisix plugin limit-count":    lua("/usr/local/apisix/apisix/plugins/limit-count.lua"),
		"apisix plugin ai":             lua("apisix/plugins/ai/util.lua"),
		"apisix plugin innermost":      lua("/a/kong/plugins/outer/handler.lua", "/a/apisix/plugins/innermost.lua"),
		"x":                            lua("/a/notkong/plugins/x.lua"),
		`[string "return 1"]`:          lua(`[string "return 1"]`),
	} {
		if got := Module(frames); got != want {
			t.Errorf("%v: %q, want %q", frames, got, want)
		}
	}
}
