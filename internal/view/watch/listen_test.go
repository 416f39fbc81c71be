package watch

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestListenHost: a site whose name leads to this machine reads nothing.
func TestListenHost(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "secret") })
	for _, c := range []struct {
		address, host string
		status        int
	}{
		{"127.0.0.1:9145", "127.0.0.1:9145", 200},
		{"127.0.0.1:9145", "127.0.0.1", 200},
		{"127.0.0.1:9145", "localhost:8000", 200}, // a tunnel's port
		{"127.0.0.1:9145", "LOCALHOST", 200},
		{"[::1]:9145", "[::1]:9145", 200},
		{"[::1]:9145", "[::1]", 200},
		{"[::1]:9145", "[0:0:0:0:0:0:0:1]:9145", 200},
		{"127.0.0.1:9145", "rebound.example:9145", 421},
		{"127.0.0.1:9145", "rebound.example", 421},
		{"127.0.0.1:9145", "localhost.rebound.example", 421},
		{"127.0.0.1:9145", "127.0.0.1.rebound.example:9145", 421},
		{"127.0.0.1:9145", "10.0.0.1:9145", 421},
		{"127.0.0.1:9145", "", 421},
		{"127.0.0.1:9145", ":9145", 421},
	} {
		request := httptest.NewRequest("GET", "/metrics", nil)
		request.Host = c.host
		answer := httptest.NewRecorder()
		newServer(c.address, page).Handler.ServeHTTP(answer, request)
		if answer.Code != c.status || (answer.Body.String() == "secret") != (c.status == 200) {
			t.Errorf("%s at %s: %d %q", c.host, c.address, answer.Code, answer.Body)
		}
	}
}

// TestListenPatience: who sends slowly, much, or nothing is not waited for.
func TestListenPatience(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	server := newServer(address, http.NotFoundHandler())
	if server.ReadHeaderTimeout <= 0 || server.ReadTimeout <= 0 || server.WriteTimeout <= 0 || server.IdleTimeout <= 0 {
		t.Errorf("it waits for ever: %+v", server)
	}
	go server.Serve(listener)
	defer server.Close()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", strings.Repeat("x", 1<<20))
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of a megabyte: %v, %v", answer, err)
	}
}

func TestCheckLoopback(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:9145": true, "127.8.9.1:0": true, "[::1]:9145": true,
		"0.0.0.0:9145": false, "[::]:9145": false, ":9145": false, "192.168.1.1:9145": false, "localhost:9145": false,
		"example.org:9145": false, "127.0.0.1": false, "": false,
	} {
		if err := CheckLoopback(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}
