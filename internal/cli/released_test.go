package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestReleased: what each released version wrote is read, as docs/reference/compatibility.md promises. 0.0.0 is in place of the first
// release until there is one. script/release-samples makes these files.
func TestReleased(t *testing.T) {
	versions, err := filepath.Glob("testdata/released/*")
	if err != nil || len(versions) == 0 {
		t.Fatalf("no versions: %v", err)
	}
	for _, version := range versions {
		for file, want := range map[string]string{
			"bench.jsonl":       `local t = {}.* ns `,
			"bench-nginx.jsonl": `with +nginx 1\.`,
			"compare.jsonl":     `return 1 \+ 1 against local t = {}`,
			"gobench.jsonl":     `(?m)^ +Work .* ns `,
			"time.jsonl":        `luajit -v`,
			"load.jsonl":        `req/s +latency +p50`,
			"profile.json":      `content_by_lua\(nginx.conf:\d+\)`,
			"explain.json":      `content_by_lua\(nginx.conf:\d+\)`,
			"watch.json":        `cats`,
			"heap.json":         `357 kB → 357 kB`,
		} {
			file := filepath.Join(version, file)
			args := []string{"report", file}
			if strings.HasSuffix(file, "heap.json") {
				args = []string{"heap", "--since", file, file}
			}
			var out, errs strings.Builder
			sys := Sys{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Width: func() int { return 100 }, Now: time.Now}
			if code := Main(t.Context(), sys, args); code != ExitOK || !regexp.MustCompile(want).MatchString(out.String()) {
				t.Errorf("moonlap %s ends with %d, without %q: %s\n%s", strings.Join(args, " "), code, want, errs.String(), out.String())
			}
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
		}
	}
}
