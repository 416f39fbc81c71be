// Package script_test looks after what the shell scripts count with.
package script_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCountsGoTests feeds gotest.awk what `go test -json` wrote about packages that go wrong in
// every way there is.
func TestCountsGoTests(t *testing.T) {
	const events = `{"ImportPath":"x/broken","Action":"build-output","Output":"d.go:1: too many return values\n"}
{"ImportPath":"x/broken","Action":"build-fail"}
{"Action":"fail","Package":"x/broken","Elapsed":0,"FailedBuild":"x/broken"}
{"Action":"run","Package":"x/a","Test":"TestPass"}
{"Action":"pass","Package":"x/a","Test":"TestPass","Elapsed":0}
{"Action":"run","Package":"x/a","Test":"TestSub"}
{"Action":"run","Package":"x/a","Test":"TestSub/one"}
{"Action":"run","Package":"x/a","Test":"TestSub/two_\"q\"_\u003cx\u003e"}
{"Action":"output","Package":"x/a","Test":"TestSub/two_\"q\"_\u003cx\u003e","Output":"    a_test.go:4: bad \"q\" \u003cx\u003e \u0026 \\n \"Test\":\"no\"\n"}
{"Action":"output","Package":"x/a","Test":"TestSub/two_\"q\"_\u003cx\u003e","Output":"    --- FAIL: TestSub/two (0.00s)\n"}
{"Action":"pass","Package":"x/a","Test":"TestSub/one","Elapsed":0}
{"Action":"fail","Package":"x/a","Test":"TestSub/two_\"q\"_\u003cx\u003e","Elapsed":0}
{"Action":"fail","Package":"x/a","Test":"TestSub","Elapsed":0}
{"Action":"run","Package":"x/a","Test":"TestParent"}
{"Action":"run","Package":"x/a","Test":"TestParent/ok"}
{"Action":"pass","Package":"x/a","Test":"TestParent/ok","Elapsed":0}
{"Action":"fail","Package":"x/a","Test":"TestParent","Elapsed":0}
{"Action":"run","Package":"x/a","Test":"TestSkip"}
{"Action":"output","Package":"x/a","Test":"TestSkip","Output":"    a_test.go:7: no nginx:\n        install it\n"}
{"Action":"output","Package":"x/a","Test":"TestSkip","Output":"--- SKIP: TestSkip (0.00s)\n"}
{"Action":"skip","Package":"x/a","Test":"TestSkip","Elapsed":0}
{"Action":"output","Package":"x/a","Output":"FAIL\tx/a\t0.005s\n"}
{"Action":"fail","Package":"x/a","Elapsed":0.005}
{"Action":"output","Package":"x/main","Output":"setup broke\n"}
{"Action":"fail","Package":"x/main","Elapsed":1.5}
{"Action":"skip","Package":"x/none","Elapsed":0}
{"Time":"2026-11-25T23:59:40.1Z","Action":"start","Package":"x/b"}
{"Time":"2026-11-25T23:59:59.500000001Z","Action":"run","Package":"x/b","Test":"TestB"}
{"Action":"pass","Package":"x/b","Test":"TestB","Elapsed":0}
{"Time":"2026-11-26T00:00:01.75Z","Action":"pass","Package":"x/b","Elapsed":21.65}
`
	counted, printed := count(t, events)

	const wantCounted = `fail	x/broken: did not build, or ended outside a test
pass	x/a TestPass
pass	x/a TestSub/one
fail	x/a TestSub/two_"q"_<x>
pass	x/a TestParent/ok
fail	x/a TestParent
skip	x/a TestSkip: a_test.go:7: no nginx: install it
fail	x/main: did not build, or ended outside a test
pass	x/b TestB
`
	if diff := cmp.Diff(wantCounted, counted); diff != "" {
		t.Errorf("tally (- want, + got)\n%s", diff)
	}
	const wantPrinted = `d.go:1: too many return values
FAIL x/broken: 0 passed, 1 failed, 0 skipped in 0.0 s
--- FAIL: x/a TestSub/two_"q"_<x>
    a_test.go:4: bad "q" <x> & \n "Test":"no"
--- FAIL: x/a TestSub
--- FAIL: x/a TestParent
FAIL x/a: 3 passed, 2 failed, 1 skipped in 0.0 s
setup broke
FAIL x/main: 0 passed, 1 failed, 0 skipped in 0.0 s
ok   x/b: 1 passed, 0 failed, 0 skipped in 2.2 s
`
	if diff := cmp.Diff(wantPrinted, printed); diff != "" {
		t.Errorf("printed (- want, + got)\n%s", diff)
	}
}

// TestShowsTheEnd holds gotest.awk to the end of a long output, which says what went wrong.
func TestShowsTheEnd(t *testing.T) {
	events := `{"Action":"run","Package":"x","Test":"TestLong"}` + "\n"
	for i := range 70 {
		events += fmt.Sprintf(`{"Action":"output","Package":"x","Test":"TestLong","Output":"line %d\n"}`+"\n", i+1)
	}
	events += `{"Action":"fail","Package":"x","Test":"TestLong","Elapsed":1}` + "\n"
	_, printed := count(t, events)
	lines := strings.Split(strings.TrimSuffix(printed, "\n"), "\n")
	if len(lines) != 62 || !strings.Contains(lines[1], "[10 lines before these") || lines[2] != "line 11" || lines[61] != "line 70" {
		t.Errorf("printed %d lines:\n%s", len(lines), printed)
	}
}

// count runs gotest.awk on the events and returns its tally and what it printed.
func count(t *testing.T, events string) (counted, printed string) {
	t.Helper()
	tally := filepath.Join(t.TempDir(), "tally")
	command := exec.Command("awk", "-v", "tally="+tally, "-f", "gotest.awk")
	command.Stdin = strings.NewReader(events)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	lines, err := os.ReadFile(tally)
	if err != nil {
		t.Fatal(err)
	}
	return string(lines), string(output)
}
