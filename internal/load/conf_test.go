package load

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const someConf = `# daemon on; listen 1;
load_module "modules/a;b.so";
daemon on; pid /run/nginx.pid;
user ${USER};
events { worker_connections 10; }
http {
  init_by_lua_block { local s = "}" -- }
    local t = { [[ } ]], [==[ ]] } ]==], '\'}' } --[[ } ]]
  }
  server {
    listen 127.0.0.1:8080 reuseport;
    listen [::]:8080;
    listen unix:/tmp/x.sock;
    location / { set $daemon on; content_by_lua_block { ngx.say("listen 9;") } }
  }
  server { listen 80; }
}
`

func TestListens(t *testing.T) {
	want := []string{"127.0.0.1:8080", "[::]:8080", "unix:/tmp/x.sock", "80"}
	if d := cmp.Diff(want, listens(someConf)); d != "" {
		t.Error(d)
	}
	for address, want := range map[string]string{"8080": "8080", "*:81": "81", "[::]:82": "82", "unix:/x": "", "localhost": "80", "127.0.0.1": "80"} {
		if got := portOfListen(address); got != want {
			t.Errorf("%s: port %q, want %q", address, got, want)
		}
	}
}

func TestForeground(t *testing.T) {
	got := foreground(someConf, "/tmp/p.pid", func(a string) string { return "moved-" + portOfListen(a) })
	for _, want := range []string{
		`daemon off; pid "/tmp/p.pid"; # daemon on; listen 1;`, "listen moved-8080 reuseport;", "listen moved-80;", "set $daemon on;",
		`ngx.say("listen 9;")`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\ndaemon on") || strings.Contains(got, "/run/nginx.pid") {
		t.Errorf("daemon or pid is still there:\n%s", got)
	}
	if strings.Count(got, "\n") != strings.Count(someConf, "\n") {
		t.Error("lines have other numbers")
	}
	if got := foreground(someConf, "p", nil); !strings.Contains(got, "listen 127.0.0.1:8080 reuseport;") {
		t.Errorf("nobody asked to move it:\n%s", got)
	}
}

// FuzzConf: whatever a configuration holds, it is read to its end, and no statement lies outside it.
func FuzzConf(f *testing.F) {
	for _, seed := range []string{someConf, "", "a", "{", "}", `"`, "'\\", "${", "x_by_lua_block {", "x_by_lua_block { [[", "listen", "#"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range statements(text) {
			if s.from < 0 || s.to > len(text) || s.from > s.to || len(s.words) != len(s.at) {
				t.Fatalf("%q: %+v", text, s)
			}
			if slices.ContainsFunc(s.at, func(at [2]int) bool { return at[0] < s.from || at[1] > s.to || at[0] >= at[1] }) {
				t.Fatalf("%q: a word outside its statement: %+v", text, s)
			}
		}
		foreground(text, "p", func(a string) string { return a })
	})
}
