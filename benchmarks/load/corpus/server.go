package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"sort"
	"strconv"
	"strings"
	"sync"
)

const mostKept = 500 // requests of a connection

// A recorder is a server that answers everything alike and keeps what it was sent.
type recorder struct {
	listener net.Listener

	mu          sync.Mutex
	connections [][]string
}

func newRecorder() (*recorder, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &recorder{listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go r.serve(conn)
		}
	}()
	return r, nil
}

func (r *recorder) url() string { return "http://" + r.listener.Addr().String() }

// take returns what was sent since the last take: requests by connection, those without any left out.
func (r *recorder) take() [][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all [][]string
	for _, requests := range r.connections {
		if len(requests) > 0 {
			all = append(all, requests)
		}
	}
	r.connections = nil
	sort.Slice(all, func(i, k int) bool { return all[i][0] < all[k][0] })
	return all
}

func (r *recorder) serve(conn net.Conn) {
	defer conn.Close()
	r.mu.Lock()
	index := len(r.connections)
	r.connections = append(r.connections, nil)
	r.mu.Unlock()
	in := bufio.NewReader(conn)
	for {
		request, err := readRequest(in)
		if err != nil {
			return
		}
		r.mu.Lock()
		if index < len(r.connections) && len(r.connections[index]) < mostKept {
			r.connections[index] = append(r.connections[index], request)
		}
		r.mu.Unlock()
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

// The token is what wrk's auth.lua waits for, the body what scripts look into.
const answer = "HTTP/1.1 200 OK\r\nServer: recorder\r\nX-Token: secret\r\nContent-Type: text/plain\r\n" +
	"Content-Length: 13\r\n\r\nHello, World!"

// readRequest reads a request and returns it with its header lines sorted: wrk sends them in the order of pairs(), which
// is another one in each process.
func readRequest(in *bufio.Reader) (string, error) {
	var lines []string
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		if line == "\r\n" {
			if len(lines) == 0 {
				continue
			}
			break
		}
		lines = append(lines, line)
		name, value, _ := strings.Cut(line, ":")
		if textproto.CanonicalMIMEHeaderKey(name) == "Content-Length" {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return "", fmt.Errorf("Content-Length: %w", err)
			}
		}
	}
	sort.Strings(lines[1:])
	var out bytes.Buffer
	out.WriteString(strings.Join(lines, "") + "\r\n")
	if _, err := io.CopyN(&out, in, int64(length)); err != nil {
		return "", err
	}
	return out.String(), nil
}
