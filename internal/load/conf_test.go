package load

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/nginxconf"
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
	var got []string
	for _, address := range listens(nginxconf.Parse([]byte(someConf))) {
		got = append(got, address.Text)
	}
	if d := cmp.Diff(want, got); d != "" {
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

// FuzzConf: whatever a configuration holds, it is read to its end, and all that is not changed stays.
func FuzzConf(f *testing.F) {
	for _, seed := range []string{someConf, "", "a", "{", "}", `"`, "'\\", "${", "x_by_lua_block {", "x_by_lua_block { [[", "listen", "#"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		conf := nginxconf.Parse([]byte(text))
		conf.Each(func(d *nginxconf.Directive) {
			for _, a := range append(d.Args, nginxconf.Arg{Span: d.Span}) {
				if a.From < d.From || a.To > d.To || a.From >= a.To || d.To > len(text) {
					t.Fatalf("%q: %+v", text, d)
				}
			}
		})
		same := func(a string) string {
			for _, address := range listens(conf) {
				if address.Text == a {
					return text[address.From:address.To]
				}
			}
			return a
		}
		if got, want := foreground(text, "p", same), foreground(text, "p", nil); got != want && !strings.Contains(text, `\`) && !strings.ContainsAny(text, `"'`) {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	})
}
