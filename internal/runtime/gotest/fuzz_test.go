package gotest

import (
	"io"
	"strings"
	"testing"
)

// FuzzGoOutput: whatever a Go benchmark prints, on both streams, something is made of it that makes sense.
func FuzzGoOutput(f *testing.F) {
	f.Add([]byte("goos: linux\nBenchmarkA\nBenchmarkA-2   \t      10\t        50.5 ns/op\t 7.5 MB/s\t 3 x/y\nPASS\n"), []byte("panic: x\n\ngoroutine 1\n\t/src/m/a.go:3 +0x1\n"), 10)
	f.Add([]byte("BenchmarkA/x=1\n    a_test.go:7: why\n      more\n--- FAIL: BenchmarkA/x=1-2\n--- SKIP: BenchmarkA/y\n"), []byte("gc 1 @0.01s 0%: 0+0+0 ms clock, 0+0/0/0+0 ms cpu, 4->4->1 MB, 5 MB goal\n"), 0)
	f.Add([]byte("BenchmarkA-2 10 NaN ns/op\nBenchmarkA-2 10 1e999 ns/op 1e-999 B/op\n"), []byte("gc 1 @0, 9999999999999999999999->0->99 MB, 1 MB goal\nfatal error: \n"), 10)
	f.Fuzz(func(t *testing.T, stdout, stderr []byte, calls int) {
		e := &testEnd{testRun: testRun{pkg: &testPackage{dir: "/src/m", shown: "m"}, name: "BenchmarkA", calls: calls, count: 2},
			said: &testOutput{run: testRun{name: "BenchmarkA", calls: calls}, procs: 2}, stack: &goStack{}}
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
			paramsOf(name)
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

// TestGoOutputBounded: a benchmark that prints names and results of its own for ever is heard in bounds.
func TestGoOutputBounded(t *testing.T) {
	said := &testOutput{run: testRun{name: "BenchmarkA"}, procs: 2}
	out := &lineWriter{line: said.hear}
	for n := range 3 * mostNames {
		io.WriteString(out, "BenchmarkA/"+strings.Repeat("x", n%7)+string(rune('a'+n%26))+strings.Repeat("y", n/26)+"\n--- FAIL: BenchmarkA/x\n")
	}
	for range mostResults + 10 {
		io.WriteString(out, "BenchmarkA-2 10 1 ns/op\n")
	}
	if n := len(said.begun) + len(said.failed); n > mostNames || len(said.results) > mostResults {
		t.Errorf("%d names, %d results", n, len(said.results))
	}
	io.WriteString(out, "PASS\n")
	if !said.passed {
		t.Error("its end was not heard")
	}
}
