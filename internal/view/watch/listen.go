package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// CheckLoopback refuses addresses that other machines could reach: what is served names URIs' places
// and zones of a running server, and is not protected.
func CheckLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen %s: an address has a host and a port, as 127.0.0.1:9145", address)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("--listen %s: the page is served to this machine alone, on a loopback address such as 127.0.0.1:9145 or [::1]:9145; "+
			"an SSH tunnel or a proxy can carry it further", address)
	}
	return nil
}

// ErrServing is why Serve has ended its context.
var ErrServing = errors.New("--listen: the page cannot be served any more")

// Serve serves the page until the context ends. The context that it returns ends with it, or when
// serving fails, with the reason as its cause.
func (m *Metrics) Serve(ctx context.Context, stderr io.Writer, address string) (context.Context, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.WriteTo(w) //nolint:errcheck // a reader that left
	})
	server := newServer(address, mux)
	fmt.Fprintf(stderr, "moonlap watch: Prometheus may read http://%s/metrics\n", listener.Addr())
	serving, stop := context.WithCancelCause(ctx)
	context.AfterFunc(serving, func() { server.Close() })
	go func() {
		if err := server.Serve(listener); err != http.ErrServerClosed {
			stop(fmt.Errorf("%w: %w", ErrServing, err))
		}
	}()
	return serving, nil
}

// newServer is a server that strangers may reach through a browser of this machine, and keep waiting.
func newServer(address string, pages http.Handler) *http.Server {
	const short, long = 5 * time.Second, time.Minute
	return &http.Server{
		Handler: onlyHost(address, pages), MaxHeaderBytes: 16 << 10,
		ReadHeaderTimeout: short, ReadTimeout: short, WriteTimeout: 2 * short, IdleTimeout: 2 * long,
	}
}

// onlyHost answers requests for the address alone, or for localhost: a browser is led here by another name whose site has it lead
// to this machine (DNS rebinding), and would give that site's scripts what it reads. The port may be that of a tunnel.
func onlyHost(address string, pages http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(address)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]")
		}
		if ip := net.ParseIP(host); !strings.EqualFold(host, "localhost") && (ip == nil || !ip.Equal(net.ParseIP(own))) {
			http.Error(w, "moonlap: this page is that of "+address+" and of localhost", http.StatusMisdirectedRequest)
			return
		}
		pages.ServeHTTP(w, r)
	})
}
