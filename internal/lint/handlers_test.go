package lint

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/runtime"
)

const callHandlers = `daemon off; master_process off; error_log logs/error.log; pid logs/pid; events { }
http {
  access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path c;
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
	found, err := runtime.Find(t.Context(), runtime.Nginx, runtime.Options{Path: os.Getenv("PATH")})
	if err != nil {
		if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	got := handlersCalled(t, found.Path, found.LuaModule)
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
func handlersCalled(t *testing.T, nginx, module string) string {
	folder := t.TempDir()
	cases, err := filepath.Abs("testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	os.Mkdir(filepath.Join(folder, "logs"), 0o755)
	results, socket := filepath.Join(folder, "results"), filepath.Join(folder, "s")
	conf := strings.NewReplacer("CASES", fmt.Sprintf("%q", cases+"/"), "RESULTS", results, "SOCKET", socket).Replace(callHandlers)
	if module != "" {
		conf = fmt.Sprintf("load_module %s;\nload_module %s;\n%s", filepath.Join(filepath.Dir(module), "ndk_http_module.so"), module, conf)
	}
	write(t, folder, map[string]string{"nginx.conf": conf})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, nginx, "-p", folder, "-c", filepath.Join(folder, "nginx.conf"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	answered := false
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !answered {
			answer, err := client.Get("http://nginx/")
			if answered = err == nil; answered {
				answer.Body.Close()
			}
		}
		text, _ := os.ReadFile(results)
		if strings.Count(string(text), "\n") >= 10 { // the log phase comes last, behind the answer
			return string(text)
		}
	}
	log, _ := os.ReadFile(filepath.Join(folder, "logs", "error.log"))
	text, _ := os.ReadFile(results)
	t.Fatalf("not all methods were called: %s\n%s", text, log)
	return ""
}
