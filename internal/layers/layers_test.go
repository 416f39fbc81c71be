package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/moonlap/moonlap"
)

// TestImports holds every Go file that is not a test to the table. Tests may look further:
// they start what their room only describes.
func TestImports(t *testing.T) {
	rooms := readTable(t)
	seen := 0
	walk(t, ".go", func(file string) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		seen++
		for _, pkg := range imports(t, file) {
			if message := rooms.judge(filepath.Dir(file), pkg); message != "" {
				t.Errorf("%s: %s", file, message)
			}
		}
	})
	if seen < len(rooms)/2 {
		t.Errorf("only %d Go files found: does the walk still start at the module's root?", seen)
	}
}

func TestJudge(t *testing.T) {
	rooms := table{"lap": nil, "internal/record": {"lap"}, "internal/cli": {"lap", "internal/record"}}
	for _, c := range []struct {
		pkg, imported string
		allowed       bool
	}{
		{"internal/record", module + "/lap", true},
		{"internal/record", module + "/lap/laptest", true},
		{"internal/record", "github.com/google/go-cmp/cmp", true},
		{"internal/record", "os", true},
		{"lap/laptest", module + "/lap", true},
		{"lap", module + "/internal/record", false},
		{"internal/record/deep", module + "/internal/cli", false},
		{"internal/new", module + "/lap", false},
		{"internal/cli", module + "/internal/new", false},
	} {
		if message := rooms.judge(c.pkg, c.imported); (message == "") != c.allowed {
			t.Errorf("judge(%s, %s) = %q, want allowed = %v", c.pkg, c.imported, message, c.allowed)
		}
	}
}

// judge says what is wrong with a package importing another; "" when the table allows it.
func (rooms table) judge(pkg, imported string) string {
	imported, ours := strings.CutPrefix(imported, module+"/")
	from, to := rooms.of(pkg), rooms.of(imported)
	if !ours || from == to || slices.Contains(rooms[from], to) {
		return ""
	}
	for _, room := range []string{from, to} {
		if _, known := rooms[room]; !known {
			return pkg + " may not import " + imported + ": add the room " + room + " to the table of docs/architecture.md"
		}
	}
	return pkg + " may not import " + imported + ": see the table of docs/architecture.md"
}

// imports returns the import paths of a Go file.
func imports(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// walk calls visit with the path from the module's root of each file of this module that
// ends in suffix. Hidden folders, testdata and modules of their own are not this module's.
func walk(t *testing.T, suffix string, visit func(file string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || err == nil {
				return filepath.SkipDir
			}
		}
		if !entry.IsDir() && strings.HasSuffix(path, suffix) {
			file, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			visit(file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
