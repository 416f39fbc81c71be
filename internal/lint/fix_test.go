package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fixed lints files and returns what their fixes make of them.
func fixed(t *testing.T, paths ...string) []Change {
	t.Helper()
	vm := luajit(t)
	report, err := Run(t.Context(), Options{LuaJIT: vm, Paths: paths, Settings: &Settings{Root: "."}, Rules: BuiltIn(), Class: Request})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := Fixes(vm, report.Findings)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// TestFixesKeepMeaning: a fixed program prints what it did, is what the .golden file says, and patch makes the same of the diff.
func TestFixesKeepMeaning(t *testing.T) {
	const file = "testdata/fixes/hoist.lua"
	changes := fixed(t, file)
	if len(changes) != 1 {
		t.Fatalf("%d files are changed", len(changes))
	}
	c := changes[0]
	golden := file + ".golden"
	if *update {
		if err := os.WriteFile(golden, c.New, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(c.New)); diff != "" {
		t.Errorf("run go test ./internal/lint -run TestFixes -update (- golden, + now):\n%s", diff)
	}
	folder := t.TempDir()
	copied := filepath.Join(folder, "hoist.lua")
	write(t, folder, map[string]string{"hoist.lua": string(c.Old)})
	before := output(t, luajit(t).Path, copied)
	if before == "" {
		t.Error("the program prints nothing")
	}
	if patch, err := exec.LookPath("patch"); err == nil {
		cmd := exec.Command(patch, "-s", copied)
		cmd.Stdin = strings.NewReader(c.Diff())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, c.Diff())
		}
		if got, _ := os.ReadFile(copied); string(got) != string(c.New) {
			t.Errorf("patch makes another file of the diff: %s", cmp.Diff(string(c.New), string(got)))
		}
	}
	write(t, folder, map[string]string{"hoist.lua": string(c.New)})
	if after := output(t, luajit(t).Path, copied); after != before {
		t.Errorf("fixed, the program prints another text: %s", cmp.Diff(before, after))
	}
}

func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestFixIsLeftOut: a fix with which LuaJIT would refuse the file is left out, and the others are not. A file whose functions get
// other globals stays as it is.
func TestFixIsLeftOut(t *testing.T) {
	folder := t.TempDir()
	loop := "return function() for _, list in ipairs {} do table.sort(list, function(a, b) return a < b end) end end\n"
	write(t, folder, map[string]string{
		"locals.lua":  "local x" + strings.Repeat(", x", 199) + "\n" + loop,
		"setfenv.lua": "setfenv(1, {ipairs = ipairs, table = table})\n" + loop,
		"bom.lua":     "\xef\xbb\xbf" + loop,
		"goto.lua": "local n = 1\nif n then goto done end\nfor _ = 1, 2 do table.sort({}, function(a, b) return a < b end) end\n" +
			"::done::\nn = function(l)\nfor _ = 1, 2 do table.sort(l, function(a, b) return a > b end) end end\n",
	})
	changes := fixed(t, folder)
	if len(changes) != 2 || filepath.Base(changes[0].File) != "bom.lua" || filepath.Base(changes[1].File) != "goto.lua" {
		t.Fatalf("%+v", changes)
	}
	if now := string(changes[1].New); !strings.Contains(now, "local comes_first2 =") || strings.Contains(now, "local comes_first =") {
		t.Errorf("one of two fixes was wanted:\n%s", now)
	}
	want := "\xef\xbb\xbflocal comes_first = function(a, b) return a < b end\n\nreturn function() for _, list in ipairs {} do table.sort(list, comes_first) end end\n"
	if diff := cmp.Diff(want, string(changes[0].New)); diff != "" {
		t.Error(diff)
	}
}
