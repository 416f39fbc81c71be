package runtime

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// FuzzGoOutput: whatever a Go benchmark prints, on both streams, something is made of it that makes sense.
func FuzzGoOutput(f *testing.F) {
	f.Add([]byte("goos: linux\nBenchmarkA\nBenchmarkA-2   \t      10\t        50.5 ns/op\t 7.5 MB/s\t 3 x/y\nPASS\n"), []byte("panic: x\n\ngoroutine 1\n\t/src/m/a.go:3 +0x1\n"), 10)
	f.Add([]byte("BenchmarkA/x=1\n    a_test.go:7: why\n      more\n--- FAIL: BenchmarkA/x=1-2\n--- SKIP: BenchmarkA/y\n"), []byte("gc 1 @0.01s 0%: 0+0+0 ms clock, 0+0/0/0+0 ms cpu, 4->4->1 MB, 5 MB goal\n"), 0)
	f.Add([]byte("BenchmarkA-2 10 NaN ns/op\nBenchmarkA-2 10 1e999 ns/op 1e-999 B/op\n"), []byte("gc 1 @0, 9999999999999999999999->0->99 MB, 1 MB goal\nfatal error: \n"), 10)
	f.Fuzz(func(t *testing.T, stdout, stderr []byte, calls int) {
		e := &goEnd{goRun: goRun{pkg: &goPackage{dir: "/src/m", shown: "m"}, name: "BenchmarkA", calls: calls, count: 2},
			said: &goOutput{run: goRun{name: "BenchmarkA", calls: calls}, procs: 2}, stack: &goStack{}}
		out, errs := &lineWriter{line: e.said.hear}, &lineWriter{line: e.stack.hear}
		out.Write(stdout)
		errs.Write(stderr)
		out.end()
		errs.end()
		for _, r := range e.results() {
			if calls > 0 && r.calls != calls {
				t.Fatalf("%+v", r)
			}
		}
		for _, name := range e.culprits() {
			if !strings.HasPrefix(name, "BenchmarkA") {
				t.Fatalf("%q is none of ours", name)
			}
			goParams(name)
			benchPattern(name)
		}
		e.fault()
		if file, line, _ := e.said.complaint(); file != "" && line < 0 {
			t.Fatalf("%s:%d", file, line)
		}
		e.stack.frame("/src/m")
		e.stack.text()
	})
}

// FuzzNginxLog: what is not nginx's own comes through unchanged, in whatever pieces it is written.
func FuzzNginxLog(f *testing.F) {
	f.Add([]byte("2026/11/22 10:00:00 [notice] 7#7: worker process 8 exited on signal 11\nplain\n"), 3)
	f.Add([]byte("2026/11/22 10:00:00 [emerg] 7#0: bind() failed\n2026/11/22 10:00:00 [error] 8#8: *1 [lua] x\npart"), 1)
	f.Add([]byte("2026/11/22 10:00:00 [alert] 99999999999999999999#0: worker process 99999999999999999999 exited with code 99999999999999999999\n"), 200)
	f.Fuzz(func(t *testing.T, text []byte, piece int) {
		read := func(piece int) (string, []workerDeath) {
			var out bytes.Buffer
			var deaths []workerDeath
			l := &nginxLog{master: 7, out: &out, died: func(d workerDeath) { deaths = append(deaths, d) }}
			for b := text; len(b) > 0; {
				n := min(piece, len(b))
				l.Write(b[:n])
				b = b[n:]
			}
			l.flush()
			if len(l.partial) > maxLogLine || len(l.refusal) > 10 {
				t.Fatalf("%d bytes and %d lines are kept", len(l.partial), len(l.refusal))
			}
			return out.String(), deaths
		}
		piece = max(1, piece)
		whole, deaths := read(len(text) + 1)
		if len(whole) > len(text) {
			t.Fatalf("%q became %q", text, whole)
		}
		if len(text) < maxLogLine { // longer lines are handed on in pieces
			if cut, again := read(piece); cut != whole || len(again) != len(deaths) {
				t.Fatalf("in pieces of %d: %q and %d deaths, not %q and %d", piece, cut, len(again), whole, len(deaths))
			}
		}
	})
}

// FuzzChannel: the user's code may write to the channel what it likes.
func FuzzChannel(f *testing.F) {
	f.Add([]byte(`{"type":"finish","stop":"enough","elapsed_ns":1}` + "\n" + `{"type":"metric","name":"m","unit":"x","value":1}`))
	f.Add([]byte(`{"type":"batches","kind":"measure","calls":[1,2],"ns":[1]}` + "\n[]\n\x00\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		readChannel(bytes.NewReader(b), record.In{Process: 3}, func(l record.Line) {
			if _, err := record.EncodeLine(l); err != nil {
				t.Fatalf("%#v cannot be written: %v", l, err)
			}
		})
	})
}

// FuzzNginxV: what any program prints for -V.
func FuzzNginxV(f *testing.F) {
	f.Add("nginx version: openresty/1.25.3.1\nconfigure arguments: --with-cc-opt='-O2 -g' --add-module=../ngx_lua-0.10.26\n")
	f.Add("nginx version: nginx/1.22.1\nconfigure arguments: '\"\\")
	f.Fuzz(func(t *testing.T, out string) { parseNginxV(out) })
}

// FuzzStat: /proc/PID/stat, with any name of a program in it, and environments and paths of whoever runs here.
func FuzzStat(f *testing.F) {
	f.Add([]byte("42 (a) b (c)) S 7 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"), "/tmp/[a]*?\\b")
	f.Fuzz(func(t *testing.T, b []byte, path string) {
		if fields, err := parseStat(b); err == nil && len(fields) < 20 {
			t.Fatalf("%q", fields)
		}
		if hasMark(b, "mark") && !bytes.Contains(b, []byte(guardVariable+"=")) {
			t.Fatalf("%q has no mark", b)
		}
		if ok, err := filepath.Match(quoteGlob(path), path); err != nil || !ok {
			t.Fatalf("%q does not match itself: %v", path, err)
		}
	})
}

// TestGoOutputBounded: a benchmark that prints names and results of its own for ever is heard in bounds.
func TestGoOutputBounded(t *testing.T) {
	said := &goOutput{run: goRun{name: "BenchmarkA"}, procs: 2}
	out := &lineWriter{line: said.hear}
	for n := range 3 * mostGoNames {
		io.WriteString(out, "BenchmarkA/"+strings.Repeat("x", n%7)+string(rune('a'+n%26))+strings.Repeat("y", n/26)+"\n--- FAIL: BenchmarkA/x\n")
	}
	for range mostGoResults + 10 {
		io.WriteString(out, "BenchmarkA-2 10 1 ns/op\n")
	}
	if n := len(said.begun) + len(said.failed); n > mostGoNames || len(said.results) > mostGoResults {
		t.Errorf("%d names, %d results", n, len(said.results))
	}
	io.WriteString(out, "PASS\n")
	if !said.passed {
		t.Error("its end was not heard")
	}
}
