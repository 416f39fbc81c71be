package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/runtime"
)

// TestLintDocsRun: the hook and the job that docs/how-to/lint-a-project.md shows do what it says of them: they pass where nothing is new,
// and fail where something is.
func TestLintDocsRun(t *testing.T) {
	if ok, err := offered(t, runtime.LuaJIT); err != nil || !ok {
		t.Skip("no LuaJIT", err)
	}
	text, err := os.ReadFile("../../docs/how-to/lint-a-project.md")
	if err != nil {
		t.Fatal(err)
	}
	one := func(pattern string) []string {
		m := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
		if len(m) != 1 {
			t.Fatalf("%s is there %d times", pattern, len(m))
		}
		return strings.Fields(m[0][1])
	}
	hook := one(`(?m)^ +entry: moonlap (.*)$`)
	job := one(`(?m)^ *- run: moonlap (.*)$`)
	baseline := one(`(?m)^moonlap (lint --baseline .*)$`)

	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	write := func(file, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runs := func(want int, args ...string) string {
		t.Helper()
		var out, said strings.Builder
		sys := RealSys()
		sys.Stdout, sys.Stderr, sys.StdoutTerminal, sys.StderrTerminal = &out, &said, false, false
		if code := Main(t.Context(), sys, args); code != want {
			t.Errorf("moonlap %s ended with %d, not %d\n%s%s", strings.Join(args, " "), code, want, &out, &said)
		}
		return out.String()
	}
	const slow = "return function(s) return ngx.re.match(s, \"a\") end\n"
	write("lua/old.lua", slow)
	write("conf/nginx.conf", "worker_processes auto;\nevents { worker_connections 4096; }\nhttp { access_log off; }\n")
	runs(0, baseline...)
	runs(0, job...)
	write("lua/new.lua", slow)
	if out := runs(ExitRegression, job...); !strings.HasPrefix(out, "::warning file=lua/new.lua,line=1,") {
		t.Errorf("%q", out)
	}
	runs(ExitRegression, append(hook, "lua/new.lua")...) // pre-commit puts the files that are staged behind the entry
	write("lua/new.lua", strings.ReplaceAll(slow, `"a"`, `"a", "jo"`))
	runs(0, append(hook, "lua/new.lua")...)
}
