package nginxconf

import "bytes"

// lua reads the Lua of a block whose brace is open, by the tokens of the Lua module's own lexer: braces, comments, strings and
// long brackets. The closing brace is taken; text says what is missing.
func (l *lexer) lua() (*Lua, string) {
	code := &Lua{Place: l.place()}
	from, depth := l.at, 1
	for {
		c, wrong := l.luaToken()
		switch {
		case wrong != "":
			return nil, wrong
		case c == '{':
			depth++
		case c == '}':
			depth--
			if depth == 0 {
				code.Text = string(l.text[from : l.at-1])
				l.start = l.at
				return code, ""
			}
		}
	}
}

// refilled is how much of its buffer the Lua module wants to be filled before it looks for a token.
const refilled = bufferSize / 2

// luaToken takes the next token and what stands before it, and returns the token's first byte. The module looks for it in the buffer
// alone: a string that the buffer's end cuts is none, a comment ends there, and a long bracket has to be whole.
func (l *lexer) luaToken() (byte, string) {
	size := len(l.text)
	for start := l.at; ; {
		if l.at >= l.last || l.last-l.at < refilled && l.last < size {
			switch {
			case l.last >= size:
				return 0, notClosed
			case l.last-start == bufferSize:
				return 0, tooLong
			}
			l.last = min(size, start+bufferSize)
		}
		window := l.text[l.at:l.last]
		begin, end, wrong := luaToken(window)
		switch {
		case wrong != "":
			l.skip(l.at + begin)
			return 0, wrong
		case end > 0:
			l.skip(l.at + end)
			return window[begin], ""
		case l.last >= size:
			return 0, notClosed
		case len(window) == bufferSize:
			return 0, tooLong
		}
		// What was looked through stays in the buffer, and is not looked at again.
		start = l.at
		l.skip(l.last)
		l.last = min(size, start+bufferSize)
	}
}

const (
	notClosed = "the Lua block is not closed: a '}' is missing"
	tooLong   = "the Lua block has a piece without brace, string and comment that fills nginx's buffer of 4096 bytes: put the Lua into a file of its own"
)

// luaToken is the first token in a text, from begin to before end; end is 0 where there is none.
func luaToken(text []byte) (begin, end int, wrong string) {
	for i, c := range text {
		rest := text[i:]
		comment := bytes.HasPrefix(rest, []byte("--"))
		behind := 0
		if comment {
			behind = 2
		}
		switch {
		case c == '{' || c == '}':
			return i, i + 1, ""
		case c == '"' || c == '\'':
			if n := quoted(rest); n > 0 {
				return i, i + n, ""
			}
		case level(rest[behind:]) >= 0:
			if n := long(rest, behind); n > 0 {
				return i, i + n, ""
			}
			return i, 0, "the Lua block has a long bracket that does not end within nginx's buffer of 4096 bytes: close it, or put the Lua " +
				"into a file of its own"
		case comment:
			if n := bytes.IndexByte(rest, '\n'); n >= 0 {
				return i, i + n, ""
			}
			return i, len(text), ""
		case c == ']':
			if n := bytes.IndexFunc(rest[1:], func(r rune) bool { return r != '=' }); n >= 0 && rest[1+n] == ']' {
				return i, i + n + 2, ""
			}
		}
	}
	return 0, 0, ""
}

// quoted is the length of the string of Lua that a text begins with. One that its line does not close is none to nginx: its quote is a
// character like others.
func quoted(text []byte) int {
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		switch text[i] {
		case '\\':
			if i++; i < len(text) && text[i] == '\n' {
				return 0
			}
		case text[0]:
			return i + 1
		}
	}
	return 0
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

// long is the length of the long bracket that begins behind N bytes of a text; 0 where it does not end in it.
func long(text []byte, behind int) int {
	n := level(text[behind:])
	closing := append(append([]byte{']'}, bytes.Repeat([]byte{'='}, n)...), ']')
	from := behind + n + 2
	i := bytes.Index(text[from:], closing)
	if i < 0 {
		return 0
	}
	return from + i + len(closing)
}

// skip takes all bytes before to.
func (l *lexer) skip(to int) {
	for l.at < to {
		l.take()
	}
}
