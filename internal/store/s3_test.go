package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/store/storetest"
)

func startS3(t *testing.T) *storetest.S3 {
	t.Helper()
	server, err := storetest.StartS3(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server
}

// inS3 is the store of a machine of its own. It gives a server up after a second.
func inS3(t *testing.T, place string, getenv func(string) string) (s *Store, said *bytes.Buffer) {
	t.Helper()
	said = &bytes.Buffer{}
	cache := t.TempDir()
	s, err := At(place, func(name string) string {
		if name == "XDG_CACHE_HOME" {
			return cache
		}
		return getenv(name)
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Note = func(text string) { fmt.Fprintln(said, text) }
	s.Summarize = stat.Summarize
	s.Remote.(*bucket).silence = time.Second
	return s, said
}

var aRun = made{name: "main", file: "app.lua", at: 1, cases: map[string]float64{"concat": 100}}

// TestS3: what one machine saves another one sees; what one deletes is gone for it. Objects that are no records are nobody's business.
func TestS3(t *testing.T) {
	server := startS3(t)
	a, said := inS3(t, "s3://figures/team/one", server.Getenv())
	b, _ := inS3(t, "s3://figures/team/one/", server.Getenv("AWS_REGION=us-east-1"))
	other, _ := inS3(t, "s3://figures", server.Getenv())
	keep(t, a, aRun)
	keep(t, b, made{name: "trial", file: "app.lua", at: 2, cases: map[string]float64{"concat": 200}})
	put := func(name, text string) {
		client, err := a.Remote.(*bucket).client()
		if err == nil {
			_, err = client.PutObject(background, "figures", name, strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("team/one/records/README", "about")
	put("team/one/records/below/x.jsonl.gz", "another's")
	put("team/one/records/broken.jsonl.gz", "no record")
	for _, s := range []*Store{a, b} {
		if got := points(t, s); len(got) != 2 {
			t.Errorf("%v", got)
		}
	}
	if !strings.Contains(said.String(), "left out of the history: ") || strings.Contains(said.String(), "another's") {
		t.Errorf("%s", said)
	}
	if h, err := other.History(background, ""); err != nil || len(h.Series) != 0 {
		t.Errorf("below another prefix: %v, %v", h, err)
	}
	if n, err := a.Delete(background, "trial"); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if got := points(t, b); len(got) != 1 {
		t.Errorf("%v", got)
	}
	if n, err := b.Rebuild(background); n != 1 || err != nil {
		t.Errorf("made again: %d, %v", n, err)
	}
}

// TestS3Away: what is measured while the server is away waits, is shown meanwhile, and arrives when it is back.
func TestS3Away(t *testing.T) {
	server := startS3(t)
	s, said := inS3(t, "s3://figures", server.Getenv())
	keep(t, s, aRun)
	server.Stop()
	keep(t, s, made{name: "main", file: "app.lua", at: 2, cases: map[string]float64{"concat": 200}})
	if got := points(t, s); len(got) != 2 {
		t.Errorf("while it is away: %v", got)
	}
	if !strings.Contains(said.String(), "connection refused; see AWS_ENDPOINT_URL. What was there before is shown; 1 of this machine's records wait") {
		t.Errorf("%s", said)
	}
	if _, err := s.Delete(background, "main"); err == nil || !strings.Contains(err.Error(), "nothing is deleted") {
		t.Errorf("deleted while it is away: %v", err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if got := points(t, s); len(got) != 2 {
		t.Errorf("when it is back: %v", got)
	}
	another, _ := inS3(t, "s3://figures", server.Getenv())
	if got := points(t, another); len(got) != 2 {
		t.Errorf("at another machine: %v", got)
	}
}

// TestS3Refuses: each fault of a server, of the key or of the clock is named, with bucket, server and remedy, and without the key.
func TestS3Refuses(t *testing.T) {
	server := startS3(t)
	silent := silentServer(t)
	var asked int
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(failing.Close)
	tests := map[string]struct {
		place string
		env   []string
		want  string
	}{
		"no bucket":      {"s3://nowhere", nil, "the bucket nowhere at http://127.0.0.1:[PORT] does not exist; make it, or name another"},
		"wrong key":      {"s3://figures", []string{"AWS_ACCESS_KEY_ID=nobody"}, "does not take this key (XAdminUserNotFound); see AWS_ACCESS_KEY_ID"},
		"wrong secret":   {"s3://figures", []string{"AWS_SECRET_ACCESS_KEY=wrong-and-not-printed"}, "does not take this key (SignatureDoesNotMatch)"},
		"no key":         {"s3://figures", []string{"AWS_ACCESS_KEY_ID="}, "wants a key; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		"no server":      {"s3://figures", []string{"AWS_ENDPOINT_URL=http://127.0.0.1:1"}, "connection refused; see AWS_ENDPOINT_URL"},
		"no such host":   {"s3://figures", []string{"AWS_ENDPOINT_URL=http://s3.invalid"}, "the bucket figures at http://s3.invalid: dial tcp"},
		"silent":         {"s3://figures", []string{"AWS_ENDPOINT_URL=" + silent}, "nothing was heard of the server for 1s; see AWS_ENDPOINT_URL"},
		"no TLS there":   {"s3://figures", []string{"AWS_ENDPOINT_URL=" + strings.Replace(server.Endpoint, "http:", "https:", 1)}, "http: server gave HTTP response to HTTPS client"},
		"wrong region":   {"s3://figures", []string{"AWS_REGION=eu-west-9"}, "region"},
		"it fails":       {"s3://figures", []string{"AWS_ENDPOINT_URL=" + failing.URL, "AWS_REGION=us-east-1"}, "503 Service Unavailable"},
		"another's page": {"s3://figures", []string{"AWS_ENDPOINT_URL=" + page(t)}, ".jsonl.gz, and does not have it; see AWS_ENDPOINT_URL"},
		"clock":          {"s3://figures", []string{"AWS_ENDPOINT_URL=" + throughAnotherTime(t, server.Endpoint)}, "refuses this machine's clock, 20"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, said := inS3(t, test.place, server.Getenv(test.env...))
			if _, err := s.Keep(background, aRun.draft(t)); err != nil {
				t.Errorf("the record is not kept: %v", err)
			}
			text := strings.Replace(said.String(), strings.TrimPrefix(server.Endpoint, "http://127.0.0.1:"), "[PORT]", 1)
			if !strings.Contains(text, test.want) || !strings.Contains(text, "1 of this machine's records wait") || strings.Contains(text, "printed") {
				t.Errorf("%s\nwant %q", text, test.want)
			}
			if got := points(t, s); len(got) != 1 {
				t.Errorf("%v", got)
			}
		})
	}
	if asked == 0 || asked > 4*tries {
		t.Errorf("a server that fails was asked %d times", asked)
	}
	for _, place := range []string{"s3:", "s3://", "s3:figures", "s3:///x"} {
		if _, err := At(place, server.Getenv("XDG_CACHE_HOME=/x")); err == nil || !strings.Contains(err.Error(), "which bucket") {
			t.Errorf("%s: %v", place, err)
		}
	}
	if _, err := At("s3://x", server.Getenv("XDG_CACHE_HOME=/x", "AWS_ENDPOINT_URL=http://me:printed@h")); err == nil || strings.Contains(err.Error(), "printed") {
		t.Errorf("%v", err)
	}
}

// TestS3Cut: a record that is cut on its way is none.
func TestS3Cut(t *testing.T) {
	server := startS3(t)
	s, _ := inS3(t, "s3://figures", server.Getenv())
	keep(t, s, aRun)
	cut := httptest.NewServer(through(t, server.Endpoint, func(r *http.Response) error {
		if strings.HasSuffix(r.Request.URL.Path, recordSuffix) {
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.LimitReader(r.Body, 100), r.Body}
		}
		return nil
	}))
	t.Cleanup(cut.Close)
	another, said := inS3(t, "s3://figures", server.Getenv("AWS_ENDPOINT_URL="+cut.URL))
	_, err := another.History(background, "")
	if err == nil || !strings.Contains(err.Error(), "nothing is known here of what s3://figures holds") || !strings.Contains(said.String(), "unexpected EOF") {
		t.Errorf("%v, %s", err, said)
	}
	if left, _ := os.ReadDir(another.folder()); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

// through hands requests on to a server, whose answers are changed.
func through(t *testing.T, to string, change func(*http.Response) error) http.Handler {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		ModifyResponse: change, ErrorLog: log.New(io.Discard, "", 0),
	}
}

// throughAnotherTime is a way to a server on which requests become an hour old.
func throughAnotherTime(t *testing.T, to string) (endpoint string) {
	t.Helper()
	proxy := through(t, to, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Amz-Date", time.Now().UTC().Add(-time.Hour).Format("20060102T150405Z"))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// silentServer takes connections, and says nothing.
func silentServer(t *testing.T) (endpoint string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return "http://" + listener.Addr().String()
}

// page is a web server that is none of S3.
func page(t *testing.T) (endpoint string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>Welcome</html>") }))
	t.Cleanup(server.Close)
	return server.URL
}

// TestS3Interrupted: Ctrl-C ends the waiting for a server that is silent, and that for another moonlap which waits for one.
func TestS3Interrupted(t *testing.T) {
	s, said := inS3(t, "s3://figures", storetest.Getenv("AWS_ENDPOINT_URL="+silentServer(t)))
	s.Remote.(*bucket).silence = time.Hour
	ctx, interrupt := context.WithCancel(background)
	ended := make(chan error)
	for range 2 {
		go func() {
			_, err := s.Keep(ctx, aRun.draft(t))
			ended <- err
		}()
	}
	for waiting, _ := os.ReadDir(s.unsent()); len(waiting) == 0; waiting, _ = os.ReadDir(s.unsent()) {
		time.Sleep(time.Millisecond)
	}
	interrupt()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "Nothing is lost") || said.Len() > 0 {
			t.Errorf("%v, %s", err, said)
		}
	}
}
