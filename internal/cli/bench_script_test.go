package cli

import (
	"errors"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// TestBench runs each script of a bench command once on every runtime: what a user sees
// must not hang on it. Two short processes a case are enough to see it.
func TestBench(t *testing.T) {
	for _, kind := range []string{runtime.LuaJIT, runtime.Nginx} {
		t.Run(kind, func(t *testing.T) {
			switch there, err := offered(t, kind); {
			case err != nil:
				t.Fatal(err)
			case !there:
				t.Skipf("no %s here", kind)
			}
			testscript.Run(t, scripts(t, "testdata/script/bench", "MOONLAP_RUNTIME="+kind,
				"MOONLAP_PROCESSES=2", "MOONLAP_TIME=300ms"))
		})
	}
}

// exits is the script command `exits CODE COMMAND…`: the command ends with exactly that
// exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, not %d", code, want)
	}
}

// kept is the script command `kept RECORD CASE PROCESSES`: the record holds so many
// processes of the case that measured it and finished. Their figure is the machine's.
func kept(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: kept RECORD CASE PROCESSES")
	}
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	rec, err := record.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, c := range rec.Cases {
		if c.Name != args[1] {
			continue
		}
		finished := 0
		for _, p := range rec.Of(c.Case) {
			if p.Finish != nil && (len(p.Batches) > 0 || len(p.Laps) > 0) {
				finished++
			}
		}
		if finished != want {
			ts.Fatalf("%d processes of %s finished, not %d", finished, c.Name, want)
		}
		return
	}
	ts.Fatalf("%s has no case %q", args[0], args[1])
}
