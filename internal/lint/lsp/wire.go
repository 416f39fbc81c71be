// Package lsp is a language server over stdin and stdout: findings as diagnostics, prices on hover, fixes as code actions.
// The protocol is the Language Server Protocol 3.17, in the part that it needs.
package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"sync"
)

// mostMessage bounds a message, in bytes: a file of the largest size with its escapes.
const mostMessage = 64 << 20

// A message is one of JSON-RPC: a request has ID and Method, a notification no ID, an answer no Method.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Codes of JSON-RPC.
const (
	unknownMethod = -32601
	invalidParams = -32602
)

type wire struct {
	in  *bufio.Reader
	mu  sync.Mutex
	out io.Writer
}

// read takes the next message. The error is io.EOF at the end.
func (w *wire) read() (m message, err error) {
	head, err := textproto.NewReader(w.in).ReadMIMEHeader()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return m, io.EOF
		}
		return m, fmt.Errorf("the editor's message has no header: %w", err)
	}
	n, err := strconv.Atoi(head.Get("Content-Length"))
	if err != nil || n < 0 || n > mostMessage {
		return m, fmt.Errorf("the editor's message has the length %q", head.Get("Content-Length"))
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(w.in, text); err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("the editor's message is no JSON: %w", err)
	}
	return m, nil
}

func (w *wire) write(m message) error {
	m.Version = "2.0"
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = fmt.Fprintf(w.out, "Content-Length: %d\r\n\r\n%s", len(text), text)
	return err
}

// answer answers a request; result nil is null.
func (w *wire) answer(id json.RawMessage, result any) error {
	if result == nil {
		result = json.RawMessage("null")
	}
	return w.write(message{ID: id, Result: result})
}

func (w *wire) refuse(id json.RawMessage, code int, text string) error {
	return w.write(message{ID: id, Error: &failure{code, text}})
}

func (w *wire) notify(method string, params any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return w.write(message{Method: method, Params: text})
}
