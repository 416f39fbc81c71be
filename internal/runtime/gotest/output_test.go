package gotest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/runtime"
)

// heard is what is understood of a test binary's output, on 2 processors.
func heard(run testRun, stdout, stderr string, status int) *testEnd {
	if run.pkg == nil {
		run.pkg = &testPackage{dir: "/src/m", shown: "m"}
	}
	e := &testEnd{testRun: run, Ran: runtime.Ran{Status: status}, said: &testOutput{run: run, procs: 2}, stack: &goStack{}}
	out, errs := &lineWriter{line: e.said.hear}, &lineWriter{line: e.stack.hear}
	for _, c := range stdout { // in as many pieces as may be
		out.Write([]byte(string(c)))
	}
	errs.Write([]byte(stderr))
	out.end()
	errs.end()
	return e
}

// Results stand among what a benchmark prints, on lines of their own or not.
func TestGoResults(t *testing.T) {
	run := testRun{name: "BenchmarkA", calls: 10, count: 2}
	const stdout = "goos: linux\nno newlineBenchmarkA\nBenchmarkA-2   \t      10\t        50.5 ns/op\t 7.5 MB/s\t 3 x/y\t 0 B/op\t 1 allocs/op\n" +
		"BenchmarkAB-2 10 1 ns/op\nBenchmarkA-2 9 1 ns/op\nBenchmarkA/x-2 10 1 ns/op\nBenchmarkA-2 10 ns/op\n" +
		"\xff\x00 BenchmarkA-2 \t 10\t 60 ns/op\n--- FAIL: BenchmarkOther\nPASS\n"
	e := heard(run, stdout, "", 0)
	want := []testResult{
		{"BenchmarkA-2", 10, map[string]float64{"ns/op": 50.5, "MB/s": 7.5, "x/y": 3, "B/op": 0, "allocs/op": 1}},
		{"BenchmarkA-2", 10, map[string]float64{"ns/op": 60}},
	}
	if diff := cmp.Diff(want, e.results(), cmp.AllowUnexported(testResult{})); diff != "" {
		t.Error(diff)
	}
	if f := e.fault(); f != nil {
		t.Errorf("%+v", f)
	}
	if f := heard(run, strings.Replace(stdout, " 60 ns/op", " 60", 1), "", 0).fault(); f == nil || !strings.Contains(f.Text, "could not be read") {
		t.Errorf("a result lacks: %+v", f)
	}
}

// Each way to fail has its words, and its place where it has one.
func TestGoFaults(t *testing.T) {
	const begun, result = "BenchmarkA\n", "BenchmarkA-2 10 50 ns/op\n"
	const panicked = "panic: boom [recovered]\n\npanic: boom\n\ngoroutine 7 [running]:\ntesting.(*B).run1.func1()\n" +
		"\t/usr/local/go/src/testing/benchmark.go:1 +0x5\nm.f(...)\n\t/src/m/deep/f.go:9\nm.BenchmarkA(0x1)\n\t/src/m/a_test.go:12 +0x1\n"
	for name, c := range map[string]struct {
		stdout, stderr string
		status         int
		want, file     string
		line           int
	}{
		"nothing":  {begun + result + "PASS\n", "", 0, "", "", 0},
		"b.Fatal":  {begun + "    a_test.go:7: first\n    a_test.go:8: bad\n        thing\n--- FAIL: BenchmarkA\nFAIL\n", "", 1, "bad\nthing", "m/a_test.go", 8},
		"b.Fail":   {begun + "--- FAIL: BenchmarkA\nFAIL\n", "", 1, "said nothing", "", 0},
		"panic":    {begun, panicked, 2, "panic: boom [recovered]", "m/deep/f.go", 9},
		"memory":   {begun, "fatal error: runtime: out of memory\n", 2, "out of memory", "", 0},
		"os.Exit":  {begun, "bye\n", 3, "status 3 before it had finished", "", 0},
		"skip":     {begun + "    a_test.go:3: not here\n--- SKIP: BenchmarkA-2\nPASS\n", "", 0, "skipped this time: not here", "", 0},
		"no PASS":  {begun + result, "", 0, "end of go test's results is missing", "", 0},
		"no loop":  {begun + "BenchmarkA-2 10 0 ns/op\nPASS\n", "", 0, "never loops", "", 0},
		"all lost": {begun + "PASS\n", "", 0, "could not be read", "", 0},
	} {
		f := heard(testRun{name: "BenchmarkA", calls: 10, count: 1}, c.stdout, c.stderr, c.status).fault()
		switch {
		case f == nil && c.want == "":
		case f == nil || c.want == "" || !strings.Contains(f.Text, c.want) || f.Source.File != c.file || f.Source.Line != c.line:
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// The sub-benchmark that fails is told from those that only stand around it, and the one
// that was under way from those before.
func TestGoCulprits(t *testing.T) {
	for name, c := range map[string]struct {
		stdout string
		status int
		want   []string
	}{
		"none":     {"BenchmarkA\nBenchmarkA/x\nBenchmarkA/x-2 1 5 ns/op\nPASS\n", 0, nil},
		"inner":    {"BenchmarkA\nBenchmarkA/x\nBenchmarkA/x-2 1 5 ns/op\nBenchmarkA/y\n--- FAIL: BenchmarkA/y-2\n--- FAIL: BenchmarkA-2\n", 1, []string{"BenchmarkA/y"}},
		"died":     {"BenchmarkA\nBenchmarkA/x\nBenchmarkA/x-2 1 5 ns/op\nBenchmarkA/y\n", 3, []string{"BenchmarkA/y"}},
		"at once":  {"", 3, []string{"BenchmarkA"}},
		"in front": {"BenchmarkA\nBenchmarkA/x\nBenchmarkA/x-2 1 5 ns/op\n", 3, []string{"BenchmarkA"}},
	} {
		e := heard(testRun{name: "BenchmarkA", calls: 1, count: 1}, c.stdout, "", c.status)
		if diff := cmp.Diff(c.want, e.culprits()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestGoNames(t *testing.T) {
	if got := benchPattern("BenchmarkA/x.y/n=1+2"); got != `^BenchmarkA$/^x\.y$/^n=1\+2$` {
		t.Error(got)
	}
	want := map[string]any{"n": 1e3, "mode": "a_b"}
	if diff := cmp.Diff(want, paramsOf("BenchmarkA/n=1e3/mode=a_b/plain/=x")); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]bool{"Benchmark": true, "BenchmarkX": true, "Benchmark_x": true, "Benchmarks": false, "TestX": false} {
		if isBenchmark(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	tests := &Tests{}
	var packages []*testPackage
	for _, path := range []string{"example.org/m", "example.org/m/a", "example.org/m/a/b"} {
		p := &testPackage{path: path}
		packages = append(packages, p)
		tests.cases = append(tests.cases, &benchCase{pkg: p, full: "BenchmarkX/y"})
	}
	tests.nameCases(packages)
	var names []string
	for _, c := range tests.cases {
		names = append(names, c.declared.Name)
	}
	if diff := cmp.Diff([]string{"m.X/y", "a.X/y", "a/b.X/y"}, names); diff != "" {
		t.Error(diff)
	}
}

// A line without an end must not fill the memory; of a long one the end counts.
func TestLineWriter(t *testing.T) {
	var lines []string
	w := &lineWriter{line: func(b []byte) { lines = append(lines, string(b)) }}
	for range 100 {
		w.Write([]byte(strings.Repeat("x", longestLine)))
		if len(w.part) > longestLine {
			t.Fatalf("%d bytes kept", len(w.part))
		}
	}
	w.Write([]byte("end\nnext"))
	w.end()
	if len(lines) != 2 || !strings.HasSuffix(lines[0], "xend") || lines[1] != "next" {
		t.Errorf("%d lines", len(lines))
	}
}
