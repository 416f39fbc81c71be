package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// longest is how many lines a function may have.
const longest = 60

// longer are functions that have more, and how many: they may become shorter, and then leave this list.
var longer = map[string]int{
	"internal/luajit/jit/record.go plain":  82,
	"internal/luajit/jit/shape.go shapeOf": 77,
	"internal/luajit/stack.go Stack":       71,
}

// TestLength: a function is read without scrolling.
func TestLength(t *testing.T) {
	left := maps.Clone(longer)
	walk(t, ".go", func(file string) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "benchmarks/") {
			return
		}
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, filepath.Join(root, file), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(parsed) {
			return
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := file + " " + f.Name.Name
			lines := positions.Position(f.End()).Line - positions.Position(f.Pos()).Line + 1
			if most := max(longest, longer[name]); lines > most {
				t.Errorf("%s has %d lines, and %d are enough", name, lines, most)
			}
			if lines > longest {
				delete(left, name)
			}
		}
	})
	for _, name := range slices.Sorted(maps.Keys(left)) {
		t.Errorf("%s is short by now, or gone: take it off the list", name)
	}
}
