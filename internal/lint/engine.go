package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// chunkTimeout is how long reading a file may take: far more than one of the largest size does.
const chunkTimeout = 30 * time.Second

// An answer is a line of the engine's.
type answer struct {
	Type    string `json:"type"`
	ID      int    `json:"id"`
	Kind    string `json:"kind"`
	Rule    string `json:"rule"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	File    int    `json:"file"` // of nginx.conf
	Message string `json:"message"`
	Class   string `json:"class"`
	Loops   int    `json:"loops"`
	Cold    bool   `json:"cold"`
	Level   string `json:"level"`
	Tail    string `json:"tail"`
	KnownAs string `json:"known_as"`
	// Sometimes says that only some calls have something to gain.
	Sometimes bool            `json:"sometimes"`
	Fix       Fix             `json:"fix"`
	Settings  json.RawMessage `json:"settings"`
	// BuiltIns is what the VM makes of calls of its functions, by name.
	BuiltIns map[string]string `json:"built_ins"`
}

// Outcomes are what may become of a call of a built-in function, the best first.
var Outcomes = []string{"compiled", "arguments", "stitched", "aborted", "interpreted"}

// BuiltIns asks a VM what it makes of calls of its functions.
func BuiltIns(luajit record.Runtime) (map[string]string, error) {
	w := worker{luajit: luajit}
	defer w.close()
	answers, err := w.ask(request(nil, "vm"))
	if err != nil {
		return nil, err
	}
	for _, a := range answers {
		if a.Type == "vm" {
			return a.BuiltIns, nil
		}
	}
	return nil, errors.New("the engine says nothing of its VM")
}

// request is a request's bytes: its words, then the text.
func request(text []byte, words ...any) []byte {
	var b bytes.Buffer
	for _, w := range words {
		b.WriteString(strings.ReplaceAll(fmt.Sprint(w), " ", "%20"))
		b.WriteByte(' ')
	}
	fmt.Fprintf(&b, "%d\n", len(text))
	b.Write(text)
	return b.Bytes()
}

// A worker is an engine with the rules in it. It is started when it is first needed, and anew when it died.
type worker struct {
	luajit record.Runtime
	rules  []Rule
	engine *runtime.Engine
}

func (w *worker) close() {
	if w.engine != nil {
		w.engine.Close()
		w.engine = nil
	}
}

// start loads the rules; faults are those of rules that cannot be loaded.
func (w *worker) start() (faults []Fault, err error) {
	if w.engine, err = runtime.StartEngine(w.luajit, `require("moonlap.lint").main()`); err != nil {
		return nil, err
	}
	load := func(request []byte) error {
		answers, err := w.hear(request)
		for _, a := range answers {
			faults = append(faults, Fault{Rule: a.Rule, Message: a.Message})
		}
		return err
	}
	for _, r := range w.rules {
		kind := "rule"
		if r.Own {
			kind = "own"
		}
		if err := load(request([]byte(r.Source), kind, r.Name, r.Path)); err != nil {
			return faults, fmt.Errorf("rule %s: %w", r.Name, err)
		}
	}
	return faults, load(request(nil, "ready"))
}

// ask hands over a request and returns what comes back. Where the engine fails, the next one gets another.
func (w *worker) ask(request []byte) (answers []answer, err error) {
	if w.engine == nil {
		if _, err := w.start(); err != nil {
			return nil, err
		}
	}
	if answers, err = w.hear(request); err != nil {
		w.close()
	}
	return answers, err
}

// hear is ask of the engine that there is.
func (w *worker) hear(request []byte) (answers []answer, err error) {
	err = w.engine.Ask(request, chunkTimeout, func(line []byte) error {
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			return fmt.Errorf("the engine's answer is corrupt: %w", err)
		}
		answers = append(answers, a)
		return nil
	})
	return answers, err
}
