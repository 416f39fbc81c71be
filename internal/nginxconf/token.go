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
}

func newLexer(text []byte, file int) *lexer {
	l := &lexer{text: text, line: 1, file: file}
	if bytes.HasPrefix(text, bom) {
		l.at = len(bom)
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

// next takes a byte.
func (l *lexer) next() byte {
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
		start := l.place()
		switch c := l.text[l.at]; {
		case isSpace(c):
			l.next()
		case c == '#':
			for l.at < len(l.text) && l.text[l.at] != '\n' {
				l.at++
			}
		case c == ';':
			l.next()
			return end, Arg{Place: start}, ""
		case c == '{':
			l.next()
			return opens, Arg{Place: start}, ""
		case c == '}':
			l.next()
			return closes, Arg{Place: start}, ""
		case c == '"' || c == '\'':
			return l.quoted(c)
		default:
			return l.bare()
		}
	}
	return eof, Arg{Place: l.place()}, ""
}

// quoted reads to the quote that ends it. What follows must part it from the next word.
func (l *lexer) quoted(quote byte) (kind, Arg, string) {
	begin := l.place()
	l.next()
	arg := Arg{Quoted: true, Place: l.place()}
	from := l.at
	for l.at < len(l.text) {
		switch l.next() {
		case '\\':
			if l.at < len(l.text) {
				l.next()
			}
		case quote:
			arg.set(l.text[from : l.at-1])
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
func (l *lexer) bare() (kind, Arg, string) {
	arg := Arg{Place: l.place()}
	from := l.at
	dollar := false
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
