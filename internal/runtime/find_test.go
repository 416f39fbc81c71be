package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const debianV = `nginx version: nginx/1.22.1
built with OpenSSL 3.0.15 3 Sep 2024
TLS SNI support enabled
configure arguments: --with-cc-opt='-g -O2 -fPIC' --prefix=/usr/share/nginx --conf-path=/etc/nginx/nginx.conf --error-log-path=stderr --modules-path=/usr/lib/nginx/modules --with-compat --with-http_ssl_module --with-stream=dynamic
`

const openrestyV = `nginx version: openresty/1.25.3.1
built by gcc 10.2.1 20210110 (Debian 10.2.1-6)
built with OpenSSL 3.0.12 24 Oct 2023
TLS SNI support enabled
configure arguments: --prefix=/usr/local/openresty/nginx --with-cc-opt=-O2 --add-module=../ngx_devel_kit-0.3.3 --add-module=../echo-nginx-module-0.63 --add-module=../ngx_lua-0.10.26 --with-ld-opt=-Wl,-rpath,/usr/local/openresty/luajit/lib --with-pcre
`

const plainV = `nginx version: nginx/1.26.0 (Ubuntu)
built with OpenSSL 3.0.13 30 Jan 2024
configure arguments: --prefix=/etc/nginx --with-http_v2_module
`

const sourceV = `nginx version: nginx/1.25.4
configure arguments: --prefix=/opt/nginx --modules-path=modules --add-module=/src/lua-nginx-module-0.10.26
`

func TestParseNginxV(t *testing.T) {
	for out, want := range map[string]nginxBuild{
		debianV:    {version: "nginx/1.22.1", prefix: "/usr/share/nginx", modulesPath: "/usr/lib/nginx/modules"},
		openrestyV: {version: "openresty/1.25.3.1", openresty: "1.25.3.1", prefix: "/usr/local/openresty/nginx", builtin: true},
		plainV:     {version: "nginx/1.26.0", prefix: "/etc/nginx"},
		sourceV:    {version: "nginx/1.25.4", prefix: "/opt/nginx", modulesPath: "modules", builtin: true},
		strings.Replace(plainV, "--with-", "--without-http_scgi_module --without-http_rewrite_module --with-", 1): {
			version: "nginx/1.26.0", prefix: "/etc/nginx", without: []string{"scgi", "rewrite"}},
		"nginx version: openresty/1.21.4.1\nconfigure arguments: --without-http_lua_module\n": {
			version: "openresty/1.21.4.1", openresty: "1.21.4.1", without: []string{"lua"}},
	} {
		got, err := parseNginxV(out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(nginxBuild{})); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := parseNginxV("BusyBox v1.35.0\n"); err == nil {
		t.Error("BusyBox passed for nginx")
	}
}

func TestModuleFolders(t *testing.T) {
	for out, want := range map[string][]string{
		debianV: {"/usr/lib/nginx/modules"},
		plainV:  {"/etc/nginx/modules", "/usr/lib/nginx/modules"},
		sourceV: {"/opt/nginx/modules"},
	} {
		build, err := parseNginxV(out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, build.moduleFolders()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestErrorLogFlag(t *testing.T) {
	for version, want := range map[string]bool{
		"nginx/1.22.1": true, "nginx/1.19.5": true, "nginx/1.19.4": false, "nginx/1.9.15": false,
		"openresty/1.25.3.1": true, "openresty/1.17.8.2": false, "nginx": false,
	} {
		if got := hasErrorLogFlag(version); got != want {
			t.Errorf("%s: %v", version, got)
		}
	}
}

func program(t *testing.T, name, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFindLuaJIT(t *testing.T) {
	find(t, LuaJIT)
	plain := program(t, "luajit", `printf 'Lua 5.1'`)
	_, err := Find(t.Context(), LuaJIT, Options{LuaJIT: plain})
	if err == nil || !strings.Contains(err.Error(), "not LuaJIT") || !strings.Contains(err.Error(), "install") {
		t.Errorf("plain Lua: %v", err)
	}
	// A false one on the path does not hide a true one elsewhere.
	runtime, err := Find(t.Context(), LuaJIT, Options{Path: filepath.Dir(plain) + ":" + os.Getenv("PATH")})
	if err != nil || runtime.Path == plain || !strings.HasPrefix(runtime.Version, "LuaJIT 2") {
		t.Errorf("%+v, %v", runtime, err)
	}
}

// Users' paths often lack /usr/sbin.
func TestFindNginxOffThePath(t *testing.T) {
	want := find(t, Nginx)
	got, err := Find(t.Context(), Nginx, Options{Path: "/bin:relative"})
	if err != nil || got.Version != want.Version || got.Kind != Nginx {
		t.Errorf("%+v, %v", got, err)
	}
	byName, err := Find(t.Context(), Nginx, Options{Nginx: filepath.Base(want.Path), Path: filepath.Dir(want.Path)})
	if diff := cmp.Diff(want, byName); err != nil || diff != "" {
		t.Errorf("%s, %v", diff, err)
	}
}

func TestFindNothing(t *testing.T) {
	for _, opts := range []Options{{Nginx: "/nonexistent"}, {Nginx: t.TempDir()}, {Nginx: program(t, "nginx", "exit 1")}} {
		if _, err := Find(t.Context(), Auto, opts); err == nil {
			t.Errorf("%+v: found", opts)
		}
	}
	if _, err := Find(t.Context(), "perl", Options{}); err == nil {
		t.Error("found perl")
	}
}
