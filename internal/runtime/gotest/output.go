package gotest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// A testResult is one line of results: a batch.
type testResult struct {
	name   string // with the number of processors
	calls  int
	values map[string]float64 // by unit
}

// A testOutput is what is understood of a test binary's stdout, where the benchmark's own
// output stands, too: before a line of ours, without a newline, and in between.
type testOutput struct {
	run     testRun
	procs   int
	results []testResult
	begun   []string // names of benchmarks as they began, each once
	skipped []string
	failed  []string
	passed  bool
	log     []string // of b.Log and b.Fatal, since the last name or result
}

// Bounds of what is kept of a process's output: benchmarks have fewer cases, and batches.
const (
	mostNames   = 5000
	mostResults = 100_000
)

// suffix is what go test puts behind a benchmark's name.
func (o *testOutput) suffix() string {
	if o.procs == 1 {
		return ""
	}
	return "-" + strconv.Itoa(o.procs)
}

var testLog = regexp.MustCompile(`^    (\S[^:]*\.go):(\d+): `)

// hear takes one line without its newline.
func (o *testOutput) hear(b []byte) {
	line := string(b)
	if r, ok := o.result(line); ok {
		if len(o.results) < mostResults {
			o.results = append(o.results, r)
		}
		o.log = nil
		return
	}
	if len(o.skipped)+len(o.failed)+len(o.begun) >= mostNames && line != "PASS" {
		return // a benchmark prints such lines itself
	}
	if name, ok := strings.CutPrefix(line, "--- SKIP: "); ok && o.ours(name) {
		o.skipped = append(o.skipped, name)
		return
	}
	if name, ok := strings.CutPrefix(line, "--- FAIL: "); ok && o.ours(name) {
		o.failed = append(o.failed, strings.TrimSuffix(name, o.suffix()))
		return
	}
	if line == "PASS" {
		o.passed = true
		return
	}
	if name := o.beginning(line); name != "" {
		o.log = nil
		if !slices.Contains(o.begun, name) {
			o.begun = append(o.begun, name)
		}
		return
	}
	const mostLog = 50
	if strings.HasPrefix(line, "    ") && len(o.failed) == 0 && len(o.log) < mostLog {
		o.log = append(o.log, line)
	}
}

// beginning is the name at the end of a line that is the benchmark's that is run, or of
// one that it gives to b.Run.
func (o *testOutput) beginning(line string) string {
	at := strings.Index(line, o.top())
	if at < 0 {
		return ""
	}
	name := line[at:]
	if !o.ours(name) || strings.ContainsAny(name, " \t") || name != o.top() && name[len(o.top())] != '/' {
		return ""
	}
	return name
}

// ours tells a benchmark's name from those that code makes up.
func (o *testOutput) ours(name string) bool {
	rest, ok := strings.CutPrefix(name, o.top())
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '-')
}

// top is the function's name.
func (o *testOutput) top() string {
	name, _, _ := strings.Cut(o.run.name, "/")
	return name
}

// result reads a line of results of the benchmark that is run.
func (o *testOutput) result(line string) (testResult, bool) {
	at := strings.LastIndex(line, o.top())
	if at < 0 {
		return testResult{}, false
	}
	parsed := benchfmt.NewReader(strings.NewReader(line[at:]), "")
	if !parsed.Scan() {
		return testResult{}, false
	}
	res, ok := parsed.Result().(*benchfmt.Result)
	if !ok {
		return testResult{}, false
	}
	r := testResult{name: "Benchmark" + string(res.Name), calls: res.Iters, values: map[string]float64{}}
	if o.run.calls > 0 && r.calls != o.run.calls {
		return testResult{}, false
	}
	for _, v := range res.Values {
		if v.OrigUnit != "" { // benchfmt has made it another unit
			v.Value, v.Unit = v.OrigValue, v.OrigUnit
		}
		r.values[v.Unit] = v.Value
	}
	return r, true
}

// complaint is the last that the benchmark logged before it failed, and where. A text
// goes on for as many lines as are indented more.
func (o *testOutput) complaint() (file string, line int, text string) {
	for i, l := range slices.Backward(o.log) {
		m := testLog.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		line, _ = strconv.Atoi(m[2])
		text = l[len(m[0]):]
		for _, more := range o.log[i+1:] {
			text += "\n" + strings.TrimSpace(more)
		}
		return m[1], line, text
	}
	return "", 0, "it failed and said nothing"
}

// benchPattern matches one benchmark: go test splits a pattern at its slashes.
func benchPattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// A goStack keeps what the Go runtime says when it ends a program: a panic or a fatal
// error, and the stack.
type goStack struct {
	lines []string
	cycle float64 // bytes between two collections, where gctrace tells
}

const mostStack = 100 // lines

func (s *goStack) hear(b []byte) {
	if len(s.lines) == 0 {
		s.collection(string(b))
		at := max(bytes.Index(b, []byte("panic: ")), bytes.Index(b, []byte("fatal error: ")))
		if at < 0 {
			return
		}
		b = b[at:]
	}
	if len(s.lines) < mostStack {
		s.lines = append(s.lines, string(b))
	}
}

// frame is the first place on the stack that is in folder.
func (s *goStack) frame(folder string) (file string, line int) {
	for _, l := range s.lines {
		place, ok := strings.CutPrefix(l, "\t"+folder+"/")
		if !ok {
			continue
		}
		place, _, _ = strings.Cut(place, " ")
		name, number, _ := strings.Cut(place, ":")
		if n, err := strconv.Atoi(number); err == nil {
			return name, n
		}
	}
	return "", 0
}

// text is the message, without the stack.
func (s *goStack) text() string {
	for i, l := range s.lines {
		if l == "" {
			return strings.Join(s.lines[:i], "\n")
		}
	}
	return strings.Join(s.lines, "\n")
}

// A lineWriter cuts what is written into lines. Of a line longer than it keeps, it hands
// on the end, where go test's own words are.
type lineWriter struct {
	line func([]byte)
	part []byte
}

const longestLine = 64 << 10

func (w *lineWriter) Write(b []byte) (int, error) {
	n := len(b)
	for {
		before, after, found := bytes.Cut(b, []byte{'\n'})
		w.part = append(w.part, before...)
		if len(w.part) > longestLine {
			w.part = append(w.part[:0], w.part[len(w.part)-longestLine/2:]...)
		}
		if !found {
			return n, nil
		}
		w.line(w.part)
		w.part, b = w.part[:0], after
	}
}

// end hands on what follows the last newline.
func (w *lineWriter) end() {
	if len(w.part) > 0 {
		w.line(w.part)
	}
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
