package lsp

import (
	"bufio"
	"encoding/json"
	"io"
	"net/url"
	"strings"

	"github.com/moonlap/moonlap/internal/lint"
)

// A Server answers an editor.
type Server struct {
	// Lint lints a text as the file of that path.
	Lint func(path string, text []byte) *lint.Report
	// About is what hovering over a finding shows, in Markdown.
	About func(f lint.Finding) string

	wire  *wire
	files map[string]*document // by URI
}

// A document is an open file, and what was found in it.
type document struct {
	path     string
	lines    []string
	text     string
	findings []lint.Finding
}

type position struct {
	Line      int `json:"line"`      // from 0
	Character int `json:"character"` // in UTF-16 units, from 0
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type diagnostic struct {
	Range    span   `json:"range"`
	Severity int    `json:"severity"`
	Code     string `json:"code,omitempty"`
	Source   string `json:"source"`
	Message  string `json:"message"`
}

const severityError = 1

// severities of findings, as the protocol counts them.
var severities = map[string]int{lint.Error: severityError, lint.Warning: 2, lint.Note: 3}

type params struct {
	TextDocument struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"textDocument"`
	ContentChanges []struct {
		Text string `json:"text"`
	} `json:"contentChanges"`
	Position position `json:"position"`
	Range    span     `json:"range"`
}

// Serve talks until the editor says exit, or its end of the pipe closes. It returns whether the editor said shutdown before.
func (s *Server) Serve(in io.Reader, out io.Writer) (orderly bool, err error) {
	s.wire = &wire{in: bufio.NewReader(in), out: out}
	s.files = map[string]*document{}
	for {
		m, err := s.wire.read()
		if err == io.EOF || m.Method == "exit" {
			return orderly, nil
		}
		if err != nil {
			return orderly, err
		}
		orderly = orderly || m.Method == "shutdown"
		if err := s.handle(m); err != nil {
			return orderly, err
		}
	}
}

func (s *Server) handle(m message) error {
	var p params
	if len(m.Params) > 0 {
		if err := json.Unmarshal(m.Params, &p); err != nil && m.ID != nil {
			return s.wire.refuse(m.ID, invalidParams, err.Error())
		}
	}
	uri := p.TextDocument.URI
	switch m.Method {
	case "initialize":
		type object = map[string]any
		return s.wire.answer(m.ID, object{
			"serverInfo": object{"name": "moonlap lint"},
			"capabilities": object{
				"textDocumentSync": object{"openClose": true, "change": 1}, // the whole text each time
				"hoverProvider":    true, "codeActionProvider": object{"codeActionKinds": []string{"quickfix"}},
			},
		})
	case "shutdown":
		return s.wire.answer(m.ID, nil)
	case "textDocument/didOpen":
		return s.lint(uri, p.TextDocument.Text)
	case "textDocument/didChange":
		if n := len(p.ContentChanges); n > 0 {
			return s.lint(uri, p.ContentChanges[n-1].Text)
		}
		return nil
	case "textDocument/didClose":
		delete(s.files, uri)
		return s.publish(uri, []diagnostic{})
	case "textDocument/hover":
		return s.wire.answer(m.ID, s.hover(uri, p.Position))
	case "textDocument/codeAction":
		return s.wire.answer(m.ID, s.actions(uri, p.Range))
	}
	if m.ID != nil && m.Method != "" {
		return s.wire.refuse(m.ID, unknownMethod, "moonlap lint does not know "+m.Method)
	}
	return nil
}

// lint lints a text and tells the editor.
func (s *Server) lint(uri, text string) error {
	path := pathOf(uri)
	d := &document{path: path, text: text, lines: strings.SplitAfter(text, "\n")}
	s.files[uri] = d
	report := s.Lint(path, []byte(text))
	list := []diagnostic{}
	for _, f := range report.Faults {
		list = append(list, diagnostic{Range: d.at(max(f.Line, 1), max(f.Column, 1)), Severity: severityError, Source: "moonlap", Message: f.Message})
	}
	d.findings = report.Findings
	for _, f := range d.findings {
		list = append(list, diagnostic{Range: d.at(f.Line, f.Column), Severity: severities[f.Level], Code: f.Rule, Source: "moonlap", Message: f.Message})
	}
	return s.publish(uri, list)
}

func (s *Server) publish(uri string, list []diagnostic) error {
	return s.wire.notify("textDocument/publishDiagnostics", map[string]any{"uri": uri, "diagnostics": list})
}

// at is from a place, of bytes from 1, to the end of its line.
func (d *document) at(line, column int) span {
	if line > len(d.lines) {
		line = len(d.lines)
	}
	text := strings.TrimRight(d.lines[line-1], "\r\n")
	column = min(column-1, len(text))
	return span{position{line - 1, lint.UTF16(text[:column])}, position{line - 1, lint.UTF16(text)}}
}

// byteAt is where a byte offset from 0 is.
func (d *document) byteAt(offset int) position {
	before := d.text[:min(offset, len(d.text))]
	line := strings.Count(before, "\n")
	return position{line, lint.UTF16(before[strings.LastIndexByte(before, '\n')+1:])}
}

func (s *Server) hover(uri string, at position) any {
	d := s.files[uri]
	if d == nil {
		return nil
	}
	var texts []string
	for _, f := range d.findings {
		if f.Line-1 == at.Line {
			texts = append(texts, s.About(f))
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return map[string]any{"contents": map[string]string{"kind": "markdown", "value": strings.Join(texts, "\n\n---\n\n")}}
}

// actions are the fixes of the findings in the lines of a range.
func (s *Server) actions(uri string, in span) any {
	type object = map[string]any
	actions := []object{}
	d := s.files[uri]
	if d == nil {
		return actions
	}
	shift := 0
	if strings.HasPrefix(d.text, "\ufeff") {
		shift = len("\ufeff") // the engine counts behind it
	}
	for _, f := range d.findings {
		if f.Fix == nil || f.Line-1 < in.Start.Line || f.Line-1 > in.End.Line {
			continue
		}
		edits := []object{}
		for _, e := range f.Fix {
			edits = append(edits, object{"range": span{d.byteAt(e.From - 1 + shift), d.byteAt(e.To + shift)}, "newText": e.Text})
		}
		actions = append(actions, object{
			"title": "moonlap: " + f.Rule, "kind": "quickfix",
			"edit": object{"changes": object{uri: edits}},
		})
	}
	return actions
}

// pathOf is the path of a file's URI; the URI itself, where it is of something else.
func pathOf(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		return u.Path
	}
	return uri
}
