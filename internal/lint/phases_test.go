package lint

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/runtime"
)

var update = flag.Bool("update", false, "write what nginx refuses into rules/api-phase/rule.lua")

// probed are calls that are harmless where a phase allows them, each by the name of its API.
var probed = []string{
	`ngx.sleep(0)`, `ngx.say("")`, `ngx.print("")`, `ngx.flush()`, `ngx.eof()`, `ngx.exit(0)`, `ngx.exec("/never")`, `ngx.redirect("/never")`,
	`ngx.send_headers()`, `ngx.on_abort(function() end)`, `ngx.location.capture("/never")`, `ngx.location.capture_multi({{"/never"}})`,
	`ngx.req.read_body()`, `ngx.req.discard_body()`, `ngx.req.get_body_data()`, `ngx.req.get_body_file()`, `ngx.req.set_body_data("")`,
	`ngx.req.init_body()`, `ngx.req.get_post_args()`, `ngx.req.get_headers()`, `ngx.req.get_uri_args()`, `ngx.req.set_uri_args("")`,
	`ngx.req.set_uri("/x")`, `ngx.req.set_header("a", "b")`, `ngx.req.clear_header("a")`, `ngx.req.get_method()`, `ngx.req.set_method(2)`,
	`ngx.req.http_version()`, `ngx.req.raw_header()`, `ngx.req.start_time()`, `ngx.req.is_internal()`, `ngx.resp.get_headers()`,
	`ngx.socket.tcp()`, `ngx.socket.udp()`, `ngx.socket.connect("127.0.0.1", 1)`, `ngx.thread.spawn(function() end)`, `ngx.timer.at(0, function() end)`,
	`ngx.timer.every(1000, function() end)`, `ngx.get_phase()`, `ngx.now()`, `ngx.log(ngx.DEBUG, "")`, `ngx.md5("")`, `ngx.encode_base64("")`,
	`ngx.re.match("a", "a")`, `ngx.is_subrequest()`, `ngx.headers_sent()`, `ngx.var()`, `ngx.ctx()`, `ngx.header()`, `ngx.status()`,
}

// crashing are those that end nginx 1.22 with Lua module 0.10.23 by a fault of memory where there is no request: they are not tried
// there, and count as refused.
var crashing = []string{"ngx.flush"}

const probe = `
local api, code = %q, %q
local results = %q
local function write(...)
    local f = io.open(results, "a")
    f:write(table.concat({...}, "\t"), "\n")
    f:close()
end
local reads = {["ngx.var"] = "local x = ngx.var.uri", ["ngx.ctx"] = "local x = ngx.ctx.a",
    ["ngx.header"] = "local x = ngx.header.a", ["ngx.status"] = "local x = ngx.status",
    ["ngx.headers_sent"] = "local x = ngx.headers_sent", ["ngx.is_subrequest"] = "local x = ngx.is_subrequest"}
function probe(i, phase)
    local name, call = apis[i][1], apis[i][2]
    write(name, phase, "begun")
    if apis[i][3] and (phase == "init" or phase == "init_worker") then
        return write(name, phase, "no request found: it crashes")
    end
    local ok, err = pcall(loadstring(reads[name] or call))
    if not ok then
        write(name, phase, tostring(err):gsub("%%c", " "))
    end
end
`

// TestPhases: rule.lua of api-phase says of each API in which phases nginx refuses it, and nginx does.
func TestPhases(t *testing.T) {
	got := refused(t)
	var b strings.Builder
	b.WriteString(refusedBegins)
	for _, call := range probed {
		name, _, _ := strings.Cut(call, "(")
		if phases := got[name]; len(phases) > 0 {
			slices.Sort(phases)
			for i, line := range wrapped(slices.Compact(phases), 60) {
				head := fmt.Sprintf("    [%q] = ", name)
				if i > 0 {
					head = "        .. "
				}
				fmt.Fprintf(&b, "%s%q", head, line)
				if i < len(wrapped(slices.Compact(phases), 60))-1 {
					b.WriteString("\n")
				}
			}
			b.WriteString(",\n")
		}
	}
	b.WriteString("}\n")
	const path = "../../rules/api-phase/rule.lua"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), refusedBegins)
	table, tail, ok2 := strings.Cut(rest, "}\n")
	if !ok || !ok2 {
		t.Fatalf("%s has no %q", path, refusedBegins)
	}
	if *update {
		if err := os.WriteFile(path, []byte(head+b.String()+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(refusedBegins+table+"}\n", b.String()); diff != "" {
		t.Errorf("nginx refuses other APIs than %s says (- rule, + nginx); run go test ./internal/lint -run TestPhases -update\n%s", path, diff)
	}
}

// begins is what the configurations of trials begin with.
const begins = `daemon off; master_process off; error_log FOLDER/log; pid FOLDER/pid; events { }
http {
  access_log off; client_body_temp_path FOLDER/b; proxy_temp_path FOLDER/p; fastcgi_temp_path FOLDER/f; uwsgi_temp_path FOLDER/u; scgi_temp_path FOLDER/c;`

const refusedBegins = "local REFUSED = {\n"

// wrapped joins words to lines of a length; all but the last end in a blank.
func wrapped(words []string, width int) (lines []string) {
	line := ""
	for _, w := range words {
		if line != "" && len(line)+len(w) > width {
			lines, line = append(lines, line), ""
		}
		line += w + " "
	}
	return append(lines, strings.TrimSuffix(line, " "))
}

// A trial is an nginx that is thrown away: its Lua appends to the file results, and client asks it.
type trial struct {
	folder, results string
	client          *http.Client
}

// try starts an nginx until the test ends. conf has FOLDER for its folder, RESULTS for the file and SOCKET for what it listens at.
// Without nginx the test is skipped, unless MOONLAP_TEST_REQUIRE_ALL is set.
func try(t *testing.T, conf string) trial {
	found, err := runtime.Find(t.Context(), runtime.Nginx, runtime.Options{Path: os.Getenv("PATH")})
	if err != nil {
		if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	folder := t.TempDir()
	results, socket := filepath.Join(folder, "results"), filepath.Join(folder, "s")
	os.Mkdir(filepath.Join(folder, "logs"), 0o755)
	conf = strings.NewReplacer("FOLDER", folder, "RESULTS", results, "SOCKET", socket).Replace(conf)
	if module := found.LuaModule; module != "" {
		conf = fmt.Sprintf("load_module %s;\nload_module %s;\n%s", filepath.Join(filepath.Dir(module), "ndk_http_module.so"), module, conf)
	}
	write(t, folder, map[string]string{"nginx.conf": conf})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cmd := exec.CommandContext(ctx, found.Path, "-p", folder, "-c", filepath.Join(folder, "nginx.conf"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); cmd.Wait() })
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return trial{folder, results, &http.Client{
		Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// get asks for a path.
func (n trial) get(path string) error {
	resp, err := n.client.Get("http://nginx" + path)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

// said is what its Lua has written, and its log.
func (n trial) said() (results, log string) {
	text, _ := os.ReadFile(n.results)
	errors, _ := os.ReadFile(filepath.Join(n.folder, "log"))
	return string(text), string(errors)
}

// refused asks nginx which calls it refuses in which phases.
func refused(t *testing.T) map[string][]string {
	var apis strings.Builder
	for _, call := range probed {
		name, _, _ := strings.Cut(call, "(")
		fmt.Fprintf(&apis, "{%q, %q, %t}, ", name, call, slices.Contains(crashing, name))
	}
	all := "for i = 1, #apis do probe(i, %q) end"
	nginx := try(t, fmt.Sprintf(begins+`
  init_by_lua_block { apis = {%s} %s
    %s }
  init_worker_by_lua_block { %s
    %s }
  upstream b { server 0.0.0.1; balancer_by_lua_block { probe(tonumber(ngx.var.arg_i), "balancer") } }
  server { listen unix:SOCKET;
    location /never { return 204; }
    location /set { set_by_lua_block $x { probe(tonumber(ngx.var.arg_i), "set") return 1 } return 204; }
    location /rewrite { rewrite_by_lua_block { probe(tonumber(ngx.var.arg_i), "rewrite") } content_by_lua_block { ngx.exit(204) } }
    location /access { access_by_lua_block { probe(tonumber(ngx.var.arg_i), "access") } content_by_lua_block { ngx.exit(204) } }
    location /content { content_by_lua_block { probe(tonumber(ngx.var.arg_i), "content") } }
    location /header_filter { content_by_lua_block { ngx.say(1) } header_filter_by_lua_block { probe(tonumber(ngx.var.arg_i), "header_filter") } }
    location /body_filter { content_by_lua_block { ngx.say(1) } body_filter_by_lua_block { if not ngx.arg[2] then probe(tonumber(ngx.var.arg_i), "body_filter") end } }
    location /log { content_by_lua_block { ngx.say(1) } log_by_lua_block { probe(tonumber(ngx.var.arg_i), "log") } }
    location /balancer { proxy_pass http://b; }
  } }
`, apis.String(), strings.Replace(fmt.Sprintf(probe, "", "", "RESULTS"), "local api, code = \"\", \"\"\n", "", 1),
		fmt.Sprintf(all, "init"), fmt.Sprintf(all, "init_worker"), `for i = 1, #apis do ngx.timer.at(0, function() probe(i, "timer") end) end`))
	for end := time.Now().Add(8 * time.Second); nginx.get("/never") != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			tried, log := nginx.said()
			t.Fatalf("nginx does not start: %s\nthe last calls: %s", log, tried[max(0, len(tried)-200):])
		}
	}
	for _, phase := range []string{"set", "rewrite", "access", "content", "header_filter", "body_filter", "log", "balancer"} {
		for i := range probed {
			nginx.get(fmt.Sprintf("/%s?i=%d", phase, i+1)) // some end the connection: that they were reached stands in the results
		}
	}
	time.Sleep(100 * time.Millisecond) // the log phase of the last request
	text, err := os.ReadFile(nginx.results)
	if err != nil {
		t.Fatal(err)
	}
	begun, got := map[string]int{}, map[string][]string{}
	for line := range strings.Lines(string(text)) {
		word := strings.Split(strings.TrimSpace(line), "\t")
		if len(word) < 3 {
			continue
		}
		if word[2] == "begun" {
			begun[word[1]]++
		} else if strings.Contains(word[2], "API disabled") || strings.Contains(word[2], "no request found") || strings.Contains(word[2], "no request object found") {
			got[word[0]] = append(got[word[0]], word[1])
		}
	}
	for _, phase := range []string{"init", "init_worker", "timer", "set", "rewrite", "access", "content", "header_filter", "body_filter", "log", "balancer"} {
		if begun[phase] < len(probed) {
			t.Errorf("%d of %d calls were tried in %s", begun[phase], len(probed), phase)
		}
	}
	return got
}
