// Package nginxconf reads nginx.conf with its includes, and the Lua in its *_by_lua_block directives, as nginx does.
//
// It knows the syntax and no directive: what nginx itself refuses for its meaning (an unknown directive, a wrong argument) is
// read all the same. One file that cannot be read, or is broken, does not hide the others.
package nginxconf

// A Directive is one of nginx.conf.
type Directive struct {
	Name   string
	Args   []Arg
	Block  []*Directive // what stands in its braces
	Braces bool         // it has braces, and Lua where it is nil
	Lua    *Lua         // what stands in the braces of *_by_lua_block
	Place
	Span // from its name to its ';' or '{'
}

// An Arg is an argument, without quotes and escapes.
type Arg struct {
	Text   string
	Quoted bool
	Plain  bool // Text is what stands in the file, byte for byte, from Place on
	Place
	Span // with its quotes
}

// Lua is a piece of it between braces.
type Lua struct {
	Text string
	Place
}

// A Place is where something begins: the file as an index of [Config.Files], line and column from 1, in bytes.
type Place struct {
	File, Line, Column int
}

// A Span is a part of a file in bytes: From is its first one, To the first behind it.
type Span struct{ From, To int }

// A Config is a configuration with all that it includes.
type Config struct {
	Files      []string // the first is that which was asked for
	Directives []*Directive
	Errors     []Error
}

// An Error is why a file, or the rest of one, was not read.
type Error struct {
	Path         string
	Line, Column int
	Text         string
}

// Each calls f with every directive, those of blocks behind the one that has them.
func (c *Config) Each(f func(*Directive)) { each(c.Directives, f) }

func each(list []*Directive, f func(*Directive)) {
	for _, d := range list {
		f(d)
		each(d.Block, f)
	}
}
