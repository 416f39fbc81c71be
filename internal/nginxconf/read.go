package nginxconf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

const (
	mostBytes = 16 << 20 // of a file
	mostFiles = 10_000   // of a configuration
	mostDepth = 100      // of blocks in each other, with includes
)

// Read reads a configuration and all that it includes. Relative names are looked for beside the file, as nginx does with
// its own nginx.conf. What could not be read is in Errors.
func Read(path string) *Config { return ReadText(path, nil) }

// ReadText does the same with a text in place of the file's own: an editor may hold what is not written yet.
func ReadText(path string, text []byte) *Config {
	r := &reader{config: &Config{}, prefix: filepath.Dir(path), held: text}
	r.config.Directives = r.file(path, Error{Path: path, Line: 1, Column: 1}, nil, 0)
	return r.config
}

// Parse reads the text of a configuration, without what it includes.
func Parse(text []byte) *Config {
	r := &reader{config: &Config{Files: []string{""}}}
	r.config.Directives = r.parse(newLexer(text, 0), nil, 0)
	return r.config
}

type reader struct {
	config *Config
	prefix string // "": includes are not followed
	held   []byte // the text of the first file, where it is not to be read; nil elsewhere
}

// file reads one; from is where it is included, and open are the files that are being read.
func (r *reader) file(path string, from Error, open []string, depth int) []*Directive {
	real, err := filepath.EvalSymlinks(path)
	if err == nil && slices.Contains(open, real) {
		return r.refuse(from, "the include is a cycle: "+path+" is being read already")
	}
	if len(r.config.Files) >= mostFiles {
		return r.refuse(from, fmt.Sprintf("more than %d files are included: what is beyond them is not read", mostFiles))
	}
	text, err := r.held, error(nil)
	if r.held == nil || len(r.config.Files) > 0 {
		text, err = readFile(path)
	}
	if err != nil {
		var of *os.PathError
		if errors.As(err, &of) {
			err = of.Err
		}
		if len(r.config.Files) == 0 {
			r.config.Files = append(r.config.Files, path)
			return r.refuse(from, err.Error())
		}
		return r.refuse(from, fmt.Sprintf("cannot include %s: %v", path, err))
	}
	r.config.Files = append(r.config.Files, path)
	return r.parse(newLexer(text, len(r.config.Files)-1), append(open, real), depth)
}

func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	} else if info.Size() > mostBytes {
		return nil, fmt.Errorf("it has more than %d MiB", mostBytes>>20)
	}
	return io.ReadAll(f)
}

func (r *reader) refuse(at Error, text string) []*Directive {
	at.Text = text
	r.config.Errors = append(r.config.Errors, at)
	return nil
}

func (r *reader) at(p Place) Error {
	return Error{Path: r.config.Files[p.File], Line: p.Line, Column: p.Column}
}

// parse reads a whole file. What is broken ends it; what stood before it is returned.
func (r *reader) parse(l *lexer, open []string, depth int) []*Directive {
	if l.at > 0 {
		r.refuse(r.at(Place{File: l.file, Line: 1, Column: 1}), "the file begins with a byte order mark, which nginx refuses: remove it")
	}
	list, closed, at := r.block(l, open, depth)
	if closed {
		r.refuse(r.at(at), "unexpected '}'")
	}
	return list
}

// block reads directives to the closing brace, or to the end of the file.
func (r *reader) block(l *lexer, open []string, depth int) (list []*Directive, closed bool, at Place) {
	fail := func(at Place, text string) ([]*Directive, bool, Place) {
		r.refuse(r.at(at), text)
		l.at = len(l.text)
		return list, false, at
	}
	var words []Arg
	for {
		k, arg, wrong := l.token()
		if wrong != "" {
			return fail(arg.Place, wrong)
		}
		switch k {
		case word:
			words = append(words, arg)
			continue
		case eof:
			if len(words) > 0 {
				return fail(arg.Place, "unexpected end of file: a ';' or '}' is missing behind "+words[0].Text)
			}
			return list, false, arg.Place
		case closes:
			if len(words) > 0 {
				return fail(arg.Place, "unexpected '}': a ';' is missing behind "+words[0].Text)
			}
			return list, true, arg.Place
		}
		if len(words) == 0 {
			return fail(arg.Place, fmt.Sprintf("unexpected '%c'", l.text[l.at-1]))
		}
		list, words = r.unended(k, list, words)
		d := &Directive{Name: words[0].Text, Args: words[1:], Place: words[0].Place, Span: Span{words[0].From, l.at}, Braces: k == opens}
		words = nil
		switch {
		case k == end && d.Name == "include" && r.prefix != "":
			list = append(list, r.include(d, open, depth)...)
			continue
		case k == opens && strings.HasSuffix(d.Name, "_by_lua_block"):
			if d.Lua, wrong = l.lua(); wrong != "" {
				return fail(d.Place, wrong)
			}
		case k == opens && depth >= mostDepth:
			return fail(d.Place, fmt.Sprintf("more than %d blocks in each other", mostDepth))
		case k == opens:
			var closed bool
			var at Place
			errorsBefore := len(r.config.Errors)
			d.Block, closed, at = r.block(l, open, depth+1)
			if !closed {
				list = append(list, d)
				if len(r.config.Errors) == errorsBefore || l.at < len(l.text) {
					return fail(at, fmt.Sprintf("unexpected end of file: the '}' of %s in line %d is missing", d.Name, d.Line))
				}
				return list, false, at
			}
		}
		list = append(list, d)
	}
}

// blocks are directives that open one. Which others do is only known to the modules.
var blocks = map[string]bool{"events": true, "http": true, "stream": true, "mail": true, "server": true, "location": true, "upstream": true,
	"map": true, "geo": true, "split_clients": true, "types": true, "if": true, "limit_except": true}

var simple = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// unended takes from the words before a brace a directive whose ';' is missing: behind it a block's name begins a line.
func (r *reader) unended(k kind, list []*Directive, words []Arg) ([]*Directive, []Arg) {
	first := words[0]
	for i := 1; k == opens && i < len(words) && simple.MatchString(first.Text) && !blocks[first.Text]; i++ {
		name := words[i].Text
		if (blocks[name] || strings.HasSuffix(name, "_by_lua_block")) && !words[i].Quoted && words[i].Line > words[i-1].Line {
			r.refuse(r.at(first.Place), "a ';' is missing behind "+first.Text)
			return append(list, &Directive{Name: first.Text, Args: words[1:i], Place: first.Place, Span: Span{first.From, words[i].From}}), words[i:]
		}
	}
	return list, words
}

var globbing = regexp.MustCompile(`[*?\[]`)

// include reads the files of an include, in its place.
func (r *reader) include(d *Directive, open []string, depth int) (list []*Directive) {
	at := r.at(d.Place)
	switch {
	case len(d.Args) != 1:
		return append(r.refuse(at, "include takes one name"), d)
	case depth >= mostDepth:
		return append(r.refuse(at, fmt.Sprintf("more than %d blocks and includes in each other", mostDepth)), d)
	}
	pattern := d.Args[0].Text
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(r.prefix, pattern)
	}
	paths := []string{pattern}
	if globbing.MatchString(pattern) {
		var err error
		if paths, err = filepath.Glob(pattern); err != nil {
			return append(r.refuse(at, err.Error()), d)
		}
	}
	list = append(list, d)
	for _, path := range paths {
		list = append(list, r.file(path, at, open, depth+1)...)
	}
	return list
}
