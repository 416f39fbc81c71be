package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const callHandlers = begins + `
  init_by_lua_block {
    local lines = {kong_handler = {}, apisix_plugin = {}}
    for name in pairs(lines) do package.loaded[name] = dofile(CASES .. name .. ".lua") end
    function call(method)
        for name in pairs(lines) do
            local plugin = package.loaded[name]
            if plugin[method] then
                local ok, err = pcall(plugin[method], plugin.PRIORITY and plugin or 1, 1)
                local f = io.open("RESULTS", "a")
                f:write(name, ".lua:", ok and method .. " is well" or tostring(err):match(":(%d+): API disabled") or
                    tostring(err):match(":(%d+): no request") or tostring(err), "\n")
                f:close()
            end
        end
    end
  }
  init_worker_by_lua_block { call "init_worker" }
  server {
    listen unix:SOCKET;
    location / {
      access_by_lua_block { call "access" }
      content_by_lua_block { ngx.say(1) }
      header_filter_by_lua_block { call "header_filter" }
      body_filter_by_lua_block { if ngx.arg[2] then call "body_filter" call "delayed_body_filter" end }
      log_by_lua_block { call "log" }
    }
  }
}`

// TestHandlers: what api-phase says of plugins of Kong's and APISIX's a real nginx does, which calls the methods of testdata/cases in
// the phases that they have there.
func TestHandlers(t *testing.T) {
	got := handlersCalled(t)
	for _, file := range []string{"kong_handler.lua", "apisix_plugin.lua"} {
		text, err := os.ReadFile("testdata/cases/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			// What a timer refuses is found by TestPhases: here nobody sees it throw.
			if strings.Contains(line, "--> api-phase") && !strings.Contains(line, "ngx.ERR") && !strings.Contains(got, fmt.Sprintf("%s:%d\n", file, i+1)) {
				t.Errorf("%s:%d throws nothing: %s", file, i+1, line)
			}
		}
		if !strings.Contains(got, file+":access is well\n") {
			t.Errorf("%s: access is not well", file)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// handlersCalled are the lines at which methods throw, or that they are well.
func handlersCalled(t *testing.T) string {
	cases, err := filepath.Abs("testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	nginx := try(t, strings.Replace(callHandlers, "CASES", fmt.Sprintf("%q", cases+"/"), 1))
	for answered, end := false, time.Now().Add(30*time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		answered = answered || nginx.get("/") == nil
		if results, _ := nginx.said(); strings.Count(results, "\n") >= 10 { // the log phase comes last, behind the answer
			return results
		}
	}
	results, log := nginx.said()
	t.Fatalf("not all methods were called: %s\n%s", results, log)
	return ""
}
