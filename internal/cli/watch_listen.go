package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/moonlap/moonlap/internal/watch"
)

// checkLoopback refuses addresses that other machines could reach: what is served names URIs' places
// and zones of a running server, and is not protected.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return usageErrorf("--listen %s: an address has a host and a port, as 127.0.0.1:9145", address)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return usageErrorf("--listen %s: the page is served to this machine alone, on a loopback address such as 127.0.0.1:9145 or [::1]:9145; "+
			"an SSH tunnel or a proxy can carry it further", address)
	}
	return nil
}

var errServing = errors.New("--listen: the page cannot be served any more")

// serveMetrics serves the page until the context ends. The context that it returns ends with it, or when
// serving fails, with the reason as its cause.
func serveMetrics(ctx context.Context, sys Sys, address string, m *watch.Metrics) (context.Context, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.WriteTo(w) //nolint:errcheck // a reader that left
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second}
	fmt.Fprintf(sys.Stderr, "moonlap watch: Prometheus may read http://%s/metrics\n", listener.Addr())
	serving, stop := context.WithCancelCause(ctx)
	context.AfterFunc(serving, func() { server.Close() })
	go func() {
		if err := server.Serve(listener); err != http.ErrServerClosed {
			stop(fmt.Errorf("%w: %w", errServing, err))
		}
	}()
	return serving, nil
}
