package ngxlua_test

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// TestTries: requests that wait for upstream servers: for the head of an answer, after a server that could not be
// reached; for the rest of a body; and one that waits in Lua, for none.
func TestTries(t *testing.T) {
	folder := t.TempDir()
	listen := func(network, address string, answer string) string {
		t.Helper()
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				t.Cleanup(func() { c.Close() }) // it stays open until the test ends
				c.Read(make([]byte, 1))         // an answer to no request would come before nginx knows that it is connected
				c.Write([]byte(answer))
			}
		}()
		return l.Addr().String()
	}
	silent, gone := filepath.Join(folder, "silent"), filepath.Join(folder, "gone")
	listen("unix", silent, "")
	half := listen("tcp", "127.0.0.1:0", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
	pid, client := startNginx(t, fmt.Sprintf(`
		upstream some { server unix:%s max_fails=0; server unix:%s backup; }`, gone, silent),
		fmt.Sprintf(`location = /retried { proxy_pass http://some; }
			location = /half { proxy_pass http://%s; proxy_buffering off; }
			location = /lua { content_by_lua_block { ngx.sleep(100) } }`, half))
	w := workertest.Open(t, pid)
	for _, path := range []string{"/retried", "/half", "/lua"} {
		nginxtest.Begin(t, client, path)
	}
	at := func(d *time.Duration) string {
		switch {
		case d == nil:
			return "-"
		case *d < 0 || *d > 5*time.Minute || *d%time.Millisecond != 0:
			return d.String()
		}
		return "ms"
	}
	want := map[string]string{
		"/retried": "unix:" + gone + " 502 - -; unix:" + silent + " 0 ms -",
		"/half":    half + " 200 ms ms",
		"/lua":     "",
	}
	nginxtest.Await(t, "tries", want, func() (map[string]string, error) {
		all, err := w.InFlight()
		got := map[string]string{}
		for _, f := range all {
			if _, asked := want[f.URI]; !asked {
				continue
			}
			var tries []string
			for i, try := range f.Tries {
				tries = append(tries, fmt.Sprintf("%s %d %s %s", try.Peer, try.Status, at(try.Connect), at(try.Header)))
				if over := i < len(f.Tries)-1; over != (try.Total != nil) {
					return got, fmt.Errorf("%s: try %d of %d, over: %v", f.URI, i+1, len(f.Tries), try.Total != nil)
				}
			}
			got[f.URI] = strings.Join(tries, "; ")
		}
		return got, err
	})
}

// TestIsPeer: addresses as nginx writes them.
func TestIsPeer(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:8080": true, "unix:/run/app.sock": true,
		"": false, "unix:": false, "127.0.0.1": false, "/index.html": false, "::1:80": false,
	} {
		if got := ngxlua.IsPeer(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
