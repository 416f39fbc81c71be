package layers

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the rooms of docs/architecture.md into .golangci.yml")

// TestGolangci keeps the rooms of .golangci.yml, between its two marks, as the table has them.
func TestGolangci(t *testing.T) {
	path := filepath.Join(root, ".golangci.yml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "-update`\n", "        # rooms end\n"
	head, rest, ok := strings.Cut(string(text), begin)
	got, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf(".golangci.yml: the marks around the rooms are missing")
	}
	want := depguard(readTable(t))
	if *update {
		if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf(".golangci.yml is not the table of docs/architecture.md (- table, + file); "+
			"run go test ./internal/layers -update\n%s", diff)
	}
}

// depguard writes the table as rules of golangci-lint's depguard.
func depguard(rooms table) string {
	var b strings.Builder
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		fmt.Fprintf(&b, "        %s:\n          list-mode: lax\n          files: [\"**/%s/**\", \"!$test\"]\n",
			strings.ReplaceAll(room, "/", "-"), room)
		fmt.Fprintf(&b, "          deny:\n            - pkg: %s\n              desc: see the table of docs/architecture.md\n", module)
		fmt.Fprintf(&b, "          allow:\n")
		for _, other := range slices.Sorted(slices.Values(append([]string{room}, rooms[room]...))) {
			fmt.Fprintf(&b, "            - %s/%s\n", module, other)
		}
	}
	return b.String()
}
