package runtime

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime/runtimetest"
)

// find returns a runtime of this machine. Where there is none the test is skipped,
// unless MOONLAP_TEST_REQUIRE_ALL says that there must be.
func find(t *testing.T, kind string) record.Runtime {
	t.Helper()
	runtime, err := Find(t.Context(), kind, Options{Path: os.Getenv("PATH")})
	if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return runtime
}

// standIn makes the Lua side a stand-in that does what the job's code says, and gives
// the test a temporary folder that must be empty when it ends.
func standIn(t *testing.T) {
	t.Helper()
	lua, err := filepath.Abs("testdata/lua")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("MOONLAP_LUA_DIR", lua)
	dir := t.TempDir()
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("TMPDIR", tmp)
	t.Setenv(runtimetest.Mark, dir)
	t.Cleanup(func() {
		if left := runtimetest.Left(tmp, dir); left != "" {
			t.Error(left)
		}
	})
}

// outcome is what came of a process.
type outcome struct {
	lines []record.Line // all but the Exit
	fault *record.Fault // the last
	exit  record.Exit
}

// run runs spec to its end.
func run(t *testing.T, ctx context.Context, spec Spec) outcome {
	t.Helper()
	if spec.Timeout == 0 {
		spec.Timeout = time.Minute
	}
	p, err := Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	return outcomeOf(t, p)
}

func outcomeOf(t *testing.T, p *Process) outcome {
	t.Helper()
	var o outcome
	for l := range p.Lines() {
		if o.exit.ElapsedNS > 0 {
			t.Errorf("a line after the exit: %+v", l)
		}
		switch l := l.(type) {
		case record.Exit:
			o.exit = l
			continue
		case record.Fault:
			o.fault = &l
		}
		o.lines = append(o.lines, l)
	}
	if o.exit.ElapsedNS == 0 {
		t.Error("no exit line")
	}
	return o
}

func measure(runtime record.Runtime, code string) Spec {
	return Spec{Runtime: runtime, Job: Job{Mode: ModeMeasure, Code: []string{code}, Process: 7, Name: "thing", Seed: 42}}
}

// wantFault checks the fault's kind and that its text has all the words.
func wantFault(t *testing.T, o outcome, kind string, words ...string) {
	t.Helper()
	if o.fault == nil {
		t.Fatalf("no fault; lines %+v, exit %+v, stderr %+v", o.lines, o.exit, o.exit.Stderr)
	}
	if o.fault.Kind != kind {
		t.Errorf("fault is %q, want %q: %s", o.fault.Kind, kind, o.fault.Text)
	}
	for _, w := range words {
		if !strings.Contains(o.fault.Text, w) {
			t.Errorf("the fault's text lacks %q: %s", w, o.fault.Text)
		}
	}
}

func wantFinished(t *testing.T, o outcome) {
	t.Helper()
	if o.fault != nil {
		t.Fatalf("fault %+v", *o.fault)
	}
	finished := 0
	for _, l := range o.lines {
		if _, ok := l.(record.Finish); ok {
			finished++
		}
	}
	if finished == 0 {
		t.Fatalf("no finish; lines %+v, exit %+v, stderr %+v", o.lines, o.exit, o.exit.Stderr)
	}
}
