package luajit

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzSource: the code chooses the names of its chunks, and what the files of these names hold.
func FuzzSource(f *testing.F) {
	f.Add("@/srv/app.lua", "local function go(a) return a end\nM.x = function() end\n", 1)
	f.Add("=stdin", "a[\"b\"]['c'][d] = function() end", 1)
	f.Add("return 1\n\xff\x1bLJ", "function function function", -1)
	f.Add(strings.Repeat("x", 61), strings.Repeat("a.", 1000)+"b = function()", 1)
	f.Fuzz(func(t *testing.T, chunk, source string, line int) {
		file := chunkFile(chunk)
		if !utf8.ValidString(file) || strings.HasPrefix(file, "[string") && strings.Contains(file, "\n") {
			t.Fatalf("%q is %q", chunk, file)
		}
		s := Sources{Open: func(string) ([]byte, error) { return []byte(source), nil }}
		name := s.Name(Frame{Kind: Lua, File: file, FirstLn: line})
		if name != "main chunk" && !strings.Contains(source, name) {
			t.Fatalf("%q is not in %q", name, source)
		}
	})
}
