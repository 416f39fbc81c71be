// Package nginxtest starts nginx with Lua for tests of other rooms.
package nginxtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moonlap/moonlap/internal/runtime"
)

// Conf is parts of an nginx configuration.
type Conf struct {
	Dir    string // that its Lua runs in
	Main   string // beside the http block
	HTTP   string // in that
	Server string // in its server
}

// Start starts an nginx with Lua and one worker, and returns the worker's process ID and a client. Without nginx the test is
// skipped, unless MOONLAP_TEST_REQUIRE_ALL is set.
func Start(t *testing.T, c Conf) (pid int, client *http.Client) {
	t.Helper()
	skip := t.Skip
	if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
		skip = t.Fatal
	}
	found, err := runtime.Find(t.Context(), runtime.Nginx, runtime.Options{Path: os.Getenv("PATH")})
	if err != nil {
		skip(err)
	}
	folder := t.TempDir()
	socket := filepath.Join(folder, "s")
	ready := filepath.Join(folder, "pid")
	main := fmt.Sprintf(`local f = io.open(%q, "w") f:write(ngx.worker.pid(), "\n") f:close() ngx.sleep(1e6)`, ready)
	ctx, cancel := context.WithCancel(t.Context())
	started, err := runtime.Start(ctx, runtime.Spec{
		Job:      runtime.Job{Mode: runtime.ModeRun, Code: []string{main}},
		Runtime:  found,
		MainConf: []string{"events { worker_connections 64; } " + c.Main},
		HTTPConf: []string{c.HTTP + fmt.Sprintf(` server { listen unix:%s; %s }`, socket, c.Server)},
		Dir:      c.Dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	go func() {
		for line := range started.Lines() {
			_ = line
		}
		close(ended)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	for end := time.Now().Add(20 * time.Second); pid == 0; time.Sleep(10 * time.Millisecond) {
		if b, err := os.ReadFile(ready); err == nil && bytes.HasSuffix(b, []byte("\n")) {
			if pid, err = strconv.Atoi(strings.TrimSpace(string(b))); err != nil {
				t.Fatal(err)
			}
		}
		if time.Now().After(end) {
			t.Fatal("nginx does not start")
		}
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	// A worker that never answers is a failure with a place, not a test that hangs.
	return pid, &http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: 2 * time.Minute}
}

// Request asks the worker for a path, with arguments, again and again until the test's part ends.
func Request(t *testing.T, client *http.Client, path string, arguments ...string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://worker"+path+"?"+strings.Join(append(arguments, "x=1"), "&"), nil)
			if res, err := client.Do(req); err == nil {
				res.Body.Close()
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// Get asks the worker for a path once.
func Get(t *testing.T, client *http.Client, path string) http.Header {
	t.Helper()
	res, err := client.Get("http://worker" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, res.Status, err)
	}
	return res.Header
}

// Begin sends a request that does not end before the test does.
func Begin(t *testing.T, client *http.Client, path string) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		defer close(ended)
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://worker"+path, nil)
		if res, err := client.Do(req); err == nil {
			io.Copy(io.Discard, res.Body) // else the request ends when its answer begins
			res.Body.Close()
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

// Await looks again and again until what is seen is what is wanted.
func Await[T any](t *testing.T, what string, want T, see func() (T, error)) {
	t.Helper()
	var diff string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		got, err := see()
		if diff = cmp.Diff(want, got); diff == "" && err == nil {
			return
		}
		diff += fmt.Sprint(err)
	}
	t.Errorf("%s: (- want, + got)\n%s", what, diff)
}
