package nginxconf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/runtime"
)

// hard are cases where readers of nginx.conf go wrong. Each stands in a server block; nginx itself says whether it is one.
var hard = []string{
	`rewrite_by_lua_block { ngx.say("}") }`,
	`rewrite_by_lua_block { ngx.say('{') }`,
	`rewrite_by_lua_block { ngx.say("\"}") }`,
	`rewrite_by_lua_block { ngx.say('\'}') }`,
	`rewrite_by_lua_block { -- }
	}`,
	`rewrite_by_lua_block { -- " {
	}`,
	`rewrite_by_lua_block { --[[ } ]] ngx.say(1) }`,
	"rewrite_by_lua_block { --[==[ ]] }\n } ]==] ngx.say(1) }",
	`rewrite_by_lua_block { ngx.say([[ } ]]) }`,
	`rewrite_by_lua_block { ngx.say([=[ ]] } ]=]) }`,
	`rewrite_by_lua_block { local t = {{}, {}} ngx.say(#t) }`,
	`rewrite_by_lua_block { local t = {} t[t[1]] = 1 }`,
	`rewrite_by_lua_block { local s = [[ ' ]] }`,
	`rewrite_by_lua_block { local s = "[[" }`,
	`rewrite_by_lua_block { local s = "--" }`,
	`rewrite_by_lua_block { local s = '--[[' }`,
	`rewrite_by_lua_block { local x = 1 --[=
	}`,
	`rewrite_by_lua_block { local s = "a\\" }`,
	`rewrite_by_lua_block { local s = 'it"s' }`,
	`rewrite_by_lua_block{ngx.say(1)}`,
	"rewrite_by_lua_block\n{\nngx.say(1)\n}\n",
	`set_by_lua_block $x { return "}" }`,
	`rewrite_by_lua_block { ngx.say("}" }`,
	`rewrite_by_lua_block { ngx.say("{") `,
	`rewrite_by_lua_block { if true then } ngx.say(1) end }`,
	`rewrite_by_lua_block { --[[ } `,
	`rewrite_by_lua_block { local s = [==[ ]] }`,
	`rewrite_by_lua_block { ngx.say(1) };`,
	`rewrite_by_lua_block { ngx.say(1) } }`,
	`rewrite_by_lua 'ngx.say("}")';`,
	`rewrite_by_lua "ngx.say('{;')";`,
	`rewrite_by_lua 'ngx.say(\'x\')';`,
	`rewrite_by_lua ngx.say(1);`,
	`set $a "b;c{d}";`,
	`set $a 'it\'s';`,
	`set $a b\;c;`,
	`set $a ${host}x;`,
	`set $a x${host};`,
	`set $a x{y;`,
	`set $a "x"y;`,
	`set $a "x";set $b y;`,
	`set $a "unclosed;`,
	`set $a #comment
	x;`,
	`set $a x#y;`,
	`set $a "#x"; # "`,
	`set $a x`,
	`;`,
	`{ }`,
	`if ($host = "a)b") { set $a x; }`,
	`if ($host ~ "^(a|b)$"){ set $a x; }`,
	`if ( $host ~ x\{1\} ) { set $a x; }`,
	`location ~ "^/x{2}$" { set $a x; }`,
	`location ~ ^/x{2}$ { set $a x; }`,
	`location / { set $a x }`,
	`location / { set $a x; `,
	`location / { location /a { } }`,
	`location / { } location /b{}`,
	`add_header X 'a' ; add_header "Y" "b	c";`,
	`return 200 "{\"a\": 1}\n";`,
	"\r\nset $a x;\r\n",
	`set $a "\\";`,
	`set $a \`,
	`rewrite ^/(.*)$ /x/$1 last;`,
	`rewrite ^/a{2} /x last;`,
	"set $a \"x\ny\";",
	"rewrite_by_lua_block { local s = [[" + strings.Repeat("a", 2000) + "]] }",
	"rewrite_by_lua_block { local s = [[" + strings.Repeat("a", 4096) + "]] }",
	"rewrite_by_lua_block { local s = 1 --[==[" + strings.Repeat("a", 4096) + "]==]\n }",
	`set $a "x" ;;`,
	// Where in nginx's buffer a token begins decides whether it is whole.
	strings.Repeat(" ", 1200) + "rewrite_by_lua_block { local s = [[" + strings.Repeat("a", 2500) + "]] }",
	strings.Repeat(" ", 2200) + "rewrite_by_lua_block { local s = [[" + strings.Repeat("a", 2500) + "]] }",
	strings.Repeat(" ", 1800) + "rewrite_by_lua_block { local s = [[" + strings.Repeat("a", 2000) + "]] }",
	strings.Repeat(" ", 1400) + "rewrite_by_lua_block { local s = '}" + strings.Repeat("a", 2500) + "' }",
	"rewrite_by_lua_block { local s = " + strings.Repeat("1 + ", 900) + "1 }",
	"rewrite_by_lua_block { local s = " + strings.Repeat("1 + ", 1100) + "1 }",
	"#" + strings.Repeat("c", 4095) + "\nset $a x;",
	"#" + strings.Repeat("c", 4094) + "\nset $a x;",
	"set $a " + strings.Repeat("a", 4096) + ";",
	`set $a "` + strings.Repeat("a", 4095) + `";`,
}

// TestOracle compares with nginx: what is a configuration to one is one to the other.
func TestOracle(t *testing.T) {
	found, err := runtime.Find(t.Context(), runtime.Nginx, runtime.Options{Path: os.Getenv("PATH")})
	if err != nil {
		if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skipf("no nginx with Lua: %v; run script/bootstrap test", err)
	}
	folder := t.TempDir()
	accepted := 0
	for i, c := range hard {
		path := filepath.Join(folder, fmt.Sprintf("%d.conf", i))
		var b strings.Builder
		if found.LuaModule != "" {
			fmt.Fprintf(&b, "load_module %s;\n", filepath.Join(filepath.Dir(found.LuaModule), "ndk_http_module.so"))
			fmt.Fprintf(&b, "load_module %s;\n", found.LuaModule)
		}
		fmt.Fprintf(&b, "error_log stderr; pid %s/pid; events { } http { access_log off; server { listen unix:%s/s;\n%s\n} }\n", folder, folder, c)
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(found.Path, "-t", "-p", folder, "-c", path).CombinedOutput()
		// The meaning of a directive is nginx's own: here only the syntax is compared.
		nginx := err == nil || strings.Contains(string(out), "is not allowed here") || strings.Contains(string(out), "invalid number of arguments") ||
			strings.Contains(string(out), "invalid condition")
		ours := len(Read(path).Errors) == 0
		if nginx != ours {
			t.Errorf("%s\nnginx takes it: %t, we: %t\n%s%v", c, nginx, ours, out, Read(path).Errors)
		}
		if nginx {
			accepted++
		}
	}
	if accepted < len(hard)/2 || accepted == len(hard) {
		t.Errorf("nginx took %d of %d: the cases are to be of both kinds", accepted, len(hard))
	}
}
