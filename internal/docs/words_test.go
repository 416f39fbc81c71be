package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unwanted are words for which the project has others; script/prose holds pages and comments to the same.
var unwanted = regexp.MustCompile(`(?i)\b(takes? turns|in turns|dear(er|est)?|purse|glances?|stands? for|(is|are|be) told|tells|` +
	`so much more|so often|looks? into|looking (at|into)|dictionar(y|ies)|LuaJIT's machine)\b`)

// TestTextsHaveTheGlossarysWords: what help, reports and errors say to people has the words of the glossary.
func TestTextsHaveTheGlossarysWords(t *testing.T) {
	files := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if ok && text.Kind == token.STRING && strings.Contains(text.Value, " ") {
				for _, word := range unwanted.FindAllString(text.Value, -1) {
					t.Errorf("%s: %q in a text; the glossary has another word", files.Position(text.Pos()), word)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
