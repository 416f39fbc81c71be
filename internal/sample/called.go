package sample

import (
	"cmp"
	"strings"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/profile"
)

// InnermostLua is the innermost Lua frame of a stack.
func InnermostLua(stack []profile.Frame) profile.Frame {
	for _, f := range stack {
		if f.Kind == profile.Lua {
			return f
		}
	}
	return profile.Frame{}
}

// Asker is the innermost Lua frame that is none of lua-resty-core's, whose functions are nginx's API, as `dict:incr` is;
// the innermost one where all are.
func Asker(stack []profile.Frame) profile.Frame {
	for _, f := range stack {
		if f.Kind == profile.Lua && !strings.Contains(f.File, "resty/core/") {
			return f
		}
	}
	return InnermostLua(stack)
}

// OwnLua is the innermost Lua frame that is no library's, or the innermost where all are.
func OwnLua(stack []profile.Frame) profile.Frame {
	for _, f := range stack {
		if f.Kind == profile.Lua && !ofLibrary(f.File) {
			return f
		}
	}
	return InnermostLua(stack)
}

// ofLibrary tells files of lua-resty-core and its like, which are in a folder resty.
func ofLibrary(file string) bool {
	return strings.Contains(file, "/resty/") || strings.HasPrefix(file, "resty/")
}

// Called is what Lua has called: of the frames above it, the outermost that has a name. Without Lua it is nginx's or
// the library's innermost function.
func Called(stack []profile.Frame) string {
	name, innermost := "", ""
	for _, f := range stack {
		if f.Kind == profile.Lua {
			return cmp.Or(name, innermost)
		}
		if f.Kind == profile.Kernel {
			continue
		}
		if innermost == "" {
			innermost = f.Function
		}
		if named(f) || name == "" && f.Kind == profile.Builtin {
			name = f.Function
		}
	}
	return innermost
}

// named reports whether a function has a name, and not just an offset or a number.
func named(f profile.Frame) bool {
	if f.Kind == profile.Builtin {
		return !strings.HasPrefix(f.Function, "builtin #") && !strings.HasPrefix(f.Function, luajit.FFI)
	}
	if f.File == "" { // or it is code that no file tells of
		return !strings.HasPrefix(f.Function, "(")
	}
	return !strings.HasPrefix(f.Function, f.File)
}
