package jsontext

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEverywhere: all JSON that moonlap writes for others comes from here.
func TestEverywhere(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "../jsontext/jsontext.go" {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), "json.NewEncoder(") && !strings.Contains(string(b), "jsontext.NewEncoder(") {
			t.Errorf("%s: jsontext.NewEncoder escapes what a terminal obeys, json.NewEncoder does not", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
