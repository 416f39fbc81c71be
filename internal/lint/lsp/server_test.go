package lsp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/lint"
)

// fake finds "bad" wherever it stands, and would put "good" there.
func fake(_ string, text []byte) *lint.Report {
	r := &lint.Report{}
	for i, line := range strings.Split(string(text), "\n") {
		if at := strings.Index(line, "bad"); at >= 0 {
			from := bytes.Index(text, []byte("bad")) + 1
			r.Findings = append(r.Findings, lint.Finding{Rule: "bad", Line: i + 1, Column: at + 1, Message: "it is bad", Level: lint.Warning,
				Fix: lint.Fix{{From: from, To: from + 2, Text: "good"}}})
		}
	}
	if strings.Contains(string(text), "broken") {
		r.Faults = append(r.Faults, lint.Fault{Line: 1, Column: 1, Message: "it is broken"})
	}
	return r
}

func framed(messages ...string) io.Reader {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(m), m)
	}
	return strings.NewReader(b.String())
}

// answers are the messages that a server wrote, each as JSON with sorted keys.
func answers(t *testing.T, out *bytes.Buffer) (all []string) {
	t.Helper()
	w := wire{in: bufio.NewReader(out)}
	for {
		m, err := w.read()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(m)
		all = append(all, string(text))
	}
}

func TestServer(t *testing.T) {
	open := `{"method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a%20b.lua","text":"é𝄞 bad\nx"}}}`
	place := `"textDocument":{"uri":"file:///a%20b.lua"}`
	s := Server{Lint: fake, About: func(f lint.Finding) string { return "about " + f.Rule }}
	var out bytes.Buffer
	orderly, err := s.Serve(framed(
		`{"id":1,"method":"initialize","params":{}}`, open,
		`{"id":2,"method":"textDocument/hover","params":{`+place+`,"position":{"line":0,"character":5}}}`,
		`{"id":3,"method":"textDocument/hover","params":{`+place+`,"position":{"line":1,"character":0}}}`,
		`{"id":4,"method":"textDocument/codeAction","params":{`+place+`,"range":{"start":{"line":0},"end":{"line":0}}}}`,
		`{"method":"textDocument/didChange","params":{`+place+`,"contentChanges":[{"text":"broken"}]}}`,
		`{"method":"textDocument/didClose","params":{`+place+`}}`,
		`{"id":5,"method":"workspace/symbol","params":{}}`, `{"method":"$/cancelRequest","params":{"id":1}}`,
		`{"id":6,"method":"textDocument/hover","params":[]}`,
		`{"id":7,"method":"shutdown"}`, `{"method":"exit"}`), &out)
	if err != nil || !orderly {
		t.Errorf("orderly %t, %v", orderly, err)
	}
	all := answers(t, &out)
	if len(all) != 10 || !strings.Contains(all[0], `"hoverProvider":true`) {
		t.Fatalf("%d answers: %s", len(all), strings.Join(all, "\n"))
	}
	want := []string{
		`{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"diagnostics":[{"range":{"start":{"line":0,"character":4},"end":{"line":0,"character":7}},"severity":2,"code":"bad","source":"moonlap","message":"it is bad"}],"uri":"file:///a%20b.lua"}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"contents":{"kind":"markdown","value":"about bad"}}}`,
		`{"jsonrpc":"2.0","id":3}`,
		`{"jsonrpc":"2.0","id":4,"result":[{"edit":{"changes":{"file:///a%20b.lua":[{"newText":"good","range":{"end":{"character":7,"line":0},"start":{"character":4,"line":0}}}]}},"kind":"quickfix","title":"moonlap: bad"}]}`,
		`{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"diagnostics":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":6}},"severity":1,"source":"moonlap","message":"it is broken"}],"uri":"file:///a%20b.lua"}}`,
		`{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{"diagnostics":[],"uri":"file:///a%20b.lua"}}`,
		`{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"moonlap lint does not know workspace/symbol"}}`,
	}
	if diff := cmp.Diff(want, all[1:8]); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(all[8], `"code":-32602`) || all[9] != `{"jsonrpc":"2.0","id":7}` {
		t.Errorf("%s\n%s", all[8], all[9])
	}
}

// FuzzServer: whatever an editor writes, the server answers or ends.
func FuzzServer(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"))
	f.Add([]byte("Content-Length: -1\r\n\r\n"))
	f.Add([]byte("Content-Length: 99999999999\r\n\r\n{"))
	f.Add([]byte(`Content-Length: 96` + "\r\n\r\n" + `{"method":"textDocument/didOpen","params":{"textDocument":{"uri":"%","text":"bad\r\n\u00e9 bad"}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		s := Server{Lint: fake, About: func(lint.Finding) string { return "" }}
		s.Serve(bytes.NewReader(in), io.Discard)
	})
}
