package worker

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/moonlap/moonlap/internal/luajit"
)

// Where names a frame: function@file:line, or function@file:first-last where the line is one of these. It is "" for none.
func (f Frame) Where() string {
	if f.File == "" {
		return ""
	}
	name := cmp.Or(f.Function, "function")
	line := cmp.Or(f.Line, f.FirstLine)
	if line == 0 {
		return name + "@" + path.Base(f.File)
	}
	if f.LastLine > line {
		return fmt.Sprintf("%s@%s:%d-%d", name, path.Base(f.File), line, f.LastLine)
	}
	return fmt.Sprintf("%s@%s:%d", name, path.Base(f.File), line)
}

// In is where a Lua function waits, in words: function file:line in what. There may be no frame.
func (f *Frame) In(what string) string {
	if f == nil {
		return "in " + what
	}
	at := fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)
	if f.Function != "" {
		at = f.Function + " " + at
	}
	if what != "" {
		at += " in " + what
	}
	return at
}

// InnermostLua is the innermost Lua frame of a stack.
func InnermostLua(stack []Frame) Frame {
	for _, f := range stack {
		if f.Kind == luajit.Lua {
			return f
		}
	}
	return Frame{}
}

// Asker is the innermost Lua frame that is none of lua-resty-core's, whose functions are nginx's API, as `dict:incr` is;
// the innermost one where all are.
func Asker(stack []Frame) Frame {
	for _, f := range stack {
		if f.Kind == luajit.Lua && !strings.Contains(f.File, "resty/core/") {
			return f
		}
	}
	return InnermostLua(stack)
}

// Called is what Lua has called: of the frames above it, the outermost that has a name. Without Lua it is nginx's or
// the library's innermost function.
func Called(stack []Frame) string {
	name, innermost := "", ""
	for _, f := range stack {
		if f.Kind == luajit.Lua {
			return cmp.Or(name, innermost)
		}
		if f.Kind == Kernel {
			continue
		}
		if innermost == "" {
			innermost = f.Function
		}
		if named(f) || name == "" && f.Kind == luajit.Builtin {
			name = f.Function
		}
	}
	return innermost
}

// named tells whether a function has a name, and not just an offset or a number.
func named(f Frame) bool {
	if f.Kind == luajit.Builtin {
		return !strings.HasPrefix(f.Function, "builtin #")
	}
	if f.File == "" { // or it is code that no file tells of
		return !strings.HasPrefix(f.Function, "(")
	}
	return !strings.HasPrefix(f.Function, f.File)
}
