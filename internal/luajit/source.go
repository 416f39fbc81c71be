package luajit

import (
	"regexp"
	"strings"
)

// chunkFile is the file of a chunk's name, without the mark before it: "@" for files, "=" for names
// that mean themselves. Source text as a name is cut to its first line.
func chunkFile(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD") // bytecode, say, or a name in Latin-1
	switch {
	case strings.HasPrefix(name, "@"), strings.HasPrefix(name, "="):
		return name[1:]
	}
	line, _, cut := strings.Cut(name, "\n")
	if cut || len(line) > 60 {
		line = strings.ToValidUTF8(line[:min(len(line), 60)], "") + "…"
	}
	return `[string "` + line + `"]`
}

// Sources names functions by the line of their source that begins them; prototypes don't know their
// names.
type Sources struct {
	Open  func(file string) ([]byte, error) // reads a file as the process sees it
	lines map[string][]string
}

// Name puts a Lua frame's function name into words: "main chunk" for a file's outermost function,
// "" where the source can't be read or has no name there.
func (s *Sources) Name(f Frame) string {
	switch {
	case f.Kind != Lua:
		return f.Function
	case f.FirstLn == 0:
		return "main chunk"
	}
	lines := s.read(f.File)
	if f.FirstLn < 1 || f.FirstLn > len(lines) { // LuaJIT's own functions that are written in Lua have -1
		return ""
	}
	return functionName(lines[f.FirstLn-1])
}

func (s *Sources) read(file string) []string {
	if lines, ok := s.lines[file]; ok {
		return lines
	}
	if s.lines == nil {
		s.lines = map[string][]string{}
	}
	var lines []string
	if b, err := s.Open(file); err == nil {
		lines = strings.Split(string(b), "\n")
	}
	s.lines[file] = lines
	return lines
}

var (
	declared = regexp.MustCompile(`\bfunction\s+([\w.:]+)`)
	assigned = regexp.MustCompile(`((?:\w|\.|\["[^"]*"\]|\['[^']*'\]|\[[\w.]+\])+)\s*=\s*function\b`)
)

// functionName finds the name in a line that begins a function: function name(, name = function(.
// A line that begins several has no certain name.
func functionName(line string) string {
	if strings.Count(line, "function") != 1 {
		return ""
	}
	if m := declared.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	if m := assigned.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}
