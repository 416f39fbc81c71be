package nginxconf

import (
	"bytes"
	"fmt"
)

// lua reads the Lua of a block whose brace is open, by the tokens of the Lua module's own lexer: braces, comments, strings and
// long brackets. The closing brace is taken; text says what is missing.
func (l *lexer) lua() (*Lua, string) {
	code := &Lua{Place: l.place()}
	from, depth := l.at, 1
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == '{':
			depth++
			l.next()
		case c == '}':
			depth--
			l.next()
			if depth == 0 {
				code.Text = string(l.text[from : l.at-1])
				return code, ""
			}
		case c == '"' || c == '\'':
			l.string(c)
		case c == '[' && level(l.text[l.at:]) >= 0:
			if text := l.long(0); text != "" {
				return nil, "the Lua block has a long bracket " + text
			}
		case bytes.HasPrefix(l.text[l.at:], []byte("--")):
			if level(l.text[l.at+2:]) < 0 {
				for l.at < len(l.text) && l.text[l.at] != '\n' {
					l.at++
				}
			} else if text := l.long(2); text != "" {
				return nil, "the Lua block has a long comment " + text
			}
		default:
			l.next()
		}
	}
	return nil, "the Lua block is not closed: a '}' is missing"
}

// string reads a string of Lua. One that its line does not close is none to nginx: its quote is a character like others.
func (l *lexer) string(quote byte) {
	for i := l.at + 1; i < len(l.text) && l.text[i] != '\n'; i++ {
		switch l.text[i] {
		case '\\':
			if i++; i < len(l.text) && l.text[i] == '\n' {
				l.next()
				return
			}
		case quote:
			l.skip(i + 1)
			return
		}
	}
	l.next()
}

// level is that of the long bracket which text begins with; -1 where it begins with none.
func level(text []byte) int {
	if len(text) == 0 || text[0] != '[' {
		return -1
	}
	n := 1
	for n < len(text) && text[n] == '=' {
		n++
	}
	if n < len(text) && text[n] == '[' {
		return n - 1
	}
	return -1
}

// mostBracket is nginx's buffer: it refuses a long bracket that is longer in any case, and a shorter one by chance, as it depends on
// where in the buffer it begins.
const mostBracket = 4096

// long reads a long bracket which begins behind N bytes; the text says what is wrong with it.
func (l *lexer) long(behind int) string {
	n := level(l.text[l.at+behind:])
	closing := append(append([]byte{']'}, bytes.Repeat([]byte{'='}, n)...), ']')
	from := l.at + behind + n + 2
	i := bytes.Index(l.text[from:], closing)
	to := from + i + len(closing)
	switch {
	case i < 0:
		return "that is not closed"
	case to-l.at > mostBracket:
		return fmt.Sprintf("of %d bytes: nginx takes 4096 at most; put the Lua into a file of its own", to-l.at)
	}
	l.skip(to)
	return ""
}

// skip takes all bytes before to.
func (l *lexer) skip(to int) {
	for l.at < to {
		l.next()
	}
}
