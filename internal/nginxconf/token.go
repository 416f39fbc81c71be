package nginxconf

import (
	"bytes"
	"strings"
)

// A lexer reads the tokens of one file, by the rules of ngx_conf_read_token.
type lexer struct {
	text []byte
	at   int // next byte
	line int
	bol  int // where the line begins
	file int
	// nginx reads a file through a buffer. It keeps what begins at start, and holds the bytes before last. What does not fit
	// into it is refused, and a long bracket of Lua has to end in it.
	start, last int
	full        bool // the buffer is, and the word or comment in it goes on
}

// bufferSize is NGX_CONF_BUFFER.
const bufferSize = 4096

func newLexer(text []byte, file int) *lexer {
	l := &lexer{text: text, line: 1, file: file}
	if bytes.HasPrefix(text, bom) {
		l.at, l.start = len(bom), len(bom)
	}
	return l
}

var bom = []byte("\xef\xbb\xbf")

// kind is that of a token.
type kind int

const (
	word   kind = iota
	end         // ;
	opens       // {
	closes      // }
	eof
)

func (l *lexer) place() Place { return Place{File: l.file, Line: l.line, Column: l.at - l.bol + 1} }

// next takes a byte, which nginx has to have in its buffer.
func (l *lexer) next() byte {
	if l.at >= l.last {
		l.full = l.full || l.at-l.start >= bufferSize
		l.last = min(len(l.text), l.start+bufferSize)
	}
	return l.take()
}

// take takes a byte, wherever nginx has it.
func (l *lexer) take() byte {
	c := l.text[l.at]
	l.at++
	if c == '\n' {
		l.line++
		l.bol = l.at
	}
	return c
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// token reads the next one; text says why there is none.
func (l *lexer) token() (k kind, arg Arg, text string) {
	for l.at < len(l.text) {
		begin := l.place()
		c := l.next()
		k, ok := marks[c]
		switch {
		case l.full:
		case ok:
			l.start = l.at
			return k, Arg{Place: begin}, ""
		default:
			l.start = l.at - 1
		}
		switch {
		case l.full || isSpace(c):
		case c == '#':
			for l.at < len(l.text) && l.text[l.at] != '\n' {
				l.next()
			}
		case c == '"' || c == '\'':
			k, arg, text = l.quoted(c, begin)
		default:
			k, arg, text = l.bare(c, begin)
		}
		switch {
		case l.full:
			return eof, Arg{Place: begin}, "more than 4096 bytes without an end: nginx takes no longer word or comment"
		case arg.Line > 0:
			l.blank()
			return k, arg, text
		}
	}
	return eof, Arg{Place: l.place()}, ""
}

// marks are the tokens of one byte. nginx begins anew behind each.
var marks = map[byte]kind{';': end, '{': opens, '}': closes}

// blank takes the blank that ends a word: nginx counts it to the word.
func (l *lexer) blank() {
	if l.at < len(l.text) && isSpace(l.text[l.at]) {
		l.next()
	}
}

// quoted reads to the quote that ends it. What follows must part it from the next word.
func (l *lexer) quoted(quote byte, begin Place) (kind, Arg, string) {
	from := l.at
	arg := Arg{Quoted: true, Place: l.place(), Span: Span{From: from - 1}}
	l.start = from
	for l.at < len(l.text) {
		switch l.next() {
		case '\\':
			if l.at < len(l.text) {
				l.next()
			}
		case quote:
			arg.set(l.text[from : l.at-1])
			arg.To = l.at
			// A ')' may follow, for the sake of "if": it begins the next word.
			if l.at < len(l.text) && !isSpace(l.text[l.at]) && !strings.ContainsRune(";{)", rune(l.text[l.at])) {
				return eof, Arg{Place: l.place()}, "a blank, ';' or '{' must follow the quote"
			}
			return word, arg, ""
		}
	}
	return eof, Arg{Place: begin}, "the quote is not closed"
}

// bare reads a word without quotes: to a blank, ';' or '{', but for "${".
func (l *lexer) bare(first byte, begin Place) (kind, Arg, string) {
	from := l.at - 1
	arg := Arg{Place: begin}
	dollar := first == '$'
	if first == '\\' && l.at < len(l.text) {
		l.next()
	}
	for l.at < len(l.text) {
		c := l.text[l.at]
		if isSpace(c) || c == ';' || c == '{' && !dollar {
			break
		}
		l.next()
		dollar = c == '$'
		if c == '\\' && l.at < len(l.text) {
			l.next()
		}
	}
	arg.set(l.text[from:l.at])
	arg.Span = Span{from, l.at}
	return word, arg, ""
}

// escapes of nginx: a backslash before anything else stays.
var escapes = map[byte]byte{'"': '"', '\'': '\'', '\\': '\\', 't': '\t', 'r': '\r', 'n': '\n'}

func (a *Arg) set(raw []byte) {
	if bytes.IndexByte(raw, '\\') < 0 {
		a.Text, a.Plain = string(raw), true
		return
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' && i+1 < len(raw) {
			if c, ok := escapes[raw[i+1]]; ok {
				b.WriteByte(c)
				i++
				continue
			}
		}
		b.WriteByte(raw[i])
	}
	a.Text = b.String()
}
