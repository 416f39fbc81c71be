package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// TestBench runs each script of a bench command once on every runtime: what a user sees
// must not hang on it. Two short processes a case are enough to see it.
func TestBench(t *testing.T) {
	t.Parallel()
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

// disturbed is what moonlap says of processes that never settled, in text and in JSON; figureless of a case
// that so has no figure.
var (
	disturbed  = regexp.MustCompile(`never\s+reached\s+a\s+steady\s+state|"never_steady"`)
	figureless = regexp.MustCompile(`never\s+reached\s+a\s+steady\s+state,\s+so|"never_steady"`)
)

// exits is the script command `exits CODE COMMAND…`. A busy machine can keep a case from
// settling; moonlap says so, and its user measures again. So does this, at most twice:
// then the code counts, and a case that has no figure has none. CODE "0|3" takes either.
// What a run that is repeated has saved is taken back, as its user would remove it.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	takeBack := func() {}
	if slices.Contains(args, "--save") {
		takeBack = copied(ts, historyOf(ts))
	}
	for attempt := 1; ; attempt++ {
		code := statusOf(ts, args[1:])
		right := slices.Contains(strings.Split(args[0], "|"), strconv.Itoa(code))
		out := ts.ReadFile("stdout")
		again := attempt < 3 && (code == 0 && figureless.MatchString(out) || code == 3 && !right && disturbed.MatchString(out))
		switch {
		case !again && right:
			return
		case !again:
			ts.Fatalf("exit code %d, not %s", code, args[0])
		}
		ts.Logf("disturbed, once more")
		takeBack()
	}
}

// historyOf is the folder in which a script's runs are saved; "" where it is on a server, from which nothing is taken back.
func historyOf(ts *testscript.TestScript) string {
	folder, isGit := strings.CutPrefix(ts.Getenv("MOONLAP_HISTORY"), "git:")
	folder, _, _ = strings.Cut(folder, "#")
	switch {
	case folder == "":
		return filepath.Join(ts.Getenv("XDG_DATA_HOME"), "moonlap")
	case strings.Contains(folder, "://"):
		return ""
	case isGit || filepath.Ext(folder) == "":
		return folder
	}
	return filepath.Dir(folder)
}

// copied copies a folder, and returns what brings it back as it was.
func copied(ts *testscript.TestScript, folder string) func() {
	if !filepath.IsAbs(folder) {
		return func() {}
	}
	kept := filepath.Join(ts.Getenv("WORK"), ".kept")
	ts.Check(os.RemoveAll(kept))
	_, err := os.Stat(folder)
	was := err == nil
	if was {
		ts.Check(os.CopyFS(kept, os.DirFS(folder)))
	}
	return func() {
		ts.Check(os.RemoveAll(folder))
		if was {
			ts.Check(os.CopyFS(folder, os.DirFS(kept)))
		}
	}
}

// statusOf runs a command to its end.
func statusOf(ts *testscript.TestScript, command []string) int {
	var exit *exec.ExitError
	err := ts.Exec(command[0], command[1:]...)
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// kept is the script command `kept RECORD CASE PROCESSES`: the record holds N
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
