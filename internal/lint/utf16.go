package lint

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/moonlap/moonlap/internal/files"
)

// UTF16 is the length of a text in units of UTF-16, in which SARIF and editors count columns.
func UTF16(text string) (n int) {
	for _, r := range text {
		if r == utf8.RuneError {
			n++ // a stray byte is one replacement character to the editor
			continue
		}
		n += utf16.RuneLen(r)
	}
	return n
}

// linesOf are the lines of files, without a byte order mark.
type linesOf map[string][]string

// column is a column in units of UTF-16, of one in bytes. It stays as it is where the file cannot be read.
func (l linesOf) column(file string, line, column int) int {
	lines, known := l[file]
	if !known {
		if text, err := files.Read(file, mostSource); err == nil {
			lines = strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
		}
		l[file] = lines
	}
	if line < 1 || line > len(lines) || column < 1 || column-1 > len(lines[line-1]) {
		return column
	}
	return UTF16(lines[line-1][:column-1]) + 1
}
