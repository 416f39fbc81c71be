package compiler

import (
	"strings"

	"github.com/moonlap/moonlap/internal/luajit"
)

// remedies are what to try against reasons for which LuaJIT has not compiled something, in its words. Where there is none,
// nothing general can be said.
var remedies = map[string]string{
	"leaving loop in root trace":                    "usual for a loop of few turns: what is around it is compiled, where that is hot and can be",
	"inner loop in root trace":                      "usual: the inner loop has a trace of its own",
	"loop unroll limit reached":                     "an inner loop has few turns, and not always as many: write them out, or leave the loop to a function of its own",
	"call unroll limit reached":                     "recursion: write a loop, or return the call (a tail call)",
	"JIT compilation disabled for function":         "it calls a function with jit.off: call it elsewhere, or take jit.off away",
	"trace too short":                               "it begins with a call that LuaJIT does not compile: move that out, or use its FFI",
	"trace too long":                                "take it apart, or raise maxrecord (jit.opt.start)",
	"too many snapshots":                            "take it apart: too many branches lie on one way",
	"trace too deep":                                "too many functions are inlined: take it apart",
	"blacklisted":                                   "it leads into a loop or function that was given up: mend that one",
	"bad argument type":                             "a built-in function gets an argument of the wrong type on this way",
	"error thrown or hook called during recording":  "do not raise errors (error, assert) on a way that is taken often",
	"NYI: unsupported variant of built-in function": "it calls a built-in function in a way that LuaJIT does not compile, as with a callback",
	"NYI: return to lower frame":                    "it returns to a caller that LuaJIT can't follow: give the loop that calls it a trace of its own",
	"store with nil or NaN key":                     "it stores under nil or NaN",
	"missing metamethod":                            "it does with a value what that has no metamethod for",
	"looping index lookup":                          "__index leads back to itself",
	"NYI: mixed sparse/dense table":                 "a table constructor mixes numbered and other entries: make the table with table.new and fill it",
	"symbol not in cache":                           "keep the function of C in a local outside of the loop, and call it once before",
	"NYI: unsupported C type conversion":            "an FFI conversion that LuaJIT does not compile: convert the parts one by one",
	"NYI: unsupported C function type":              "a C function with a type that LuaJIT does not compile: structs by value, varargs, callbacks; wrap it in C",
	"guard would always fail":                       "a value changes from turn to turn in a way that no trace serves",
	"too many PHIs":                                 "too many variables change in the loop: take it apart",
	"persistent type instability":                   "a variable changes its type from turn to turn: keep it one type",
	"failed to allocate mcode memory":               "machine code is full: raise maxmcode (jit.opt.start)",
	"machine code too long":                         "take it apart, or raise sizemcode (jit.opt.start)",
	"too many spill slots":                          "too many variables live at once: take it apart",
}

// remedy is what to try; "" where nothing general can be said.
func remedy(u luajit.Uncompiled) string {
	switch u.Why {
	case luajit.Off:
		return "look for jit.off() without a function, or a first line of code that failed to get memory near LuaJIT's own"
	case luajit.Hooked:
		return "take the hook away: debug.sethook()"
	case luajit.FunctionOff:
		return "take jit.off away from the function, or move its hot part into another one"
	case luajit.Flushed:
		return "raise maxtrace or maxmcode (jit.opt.start) if they are reached, and do not compile code again and again (loadstring)"
	}
	if len(u.Obstacles) > 0 && (u.Reason == "" || u.Reason == "NYI: bytecode") {
		switch u.Obstacles[0].Code {
		case "FNEW", "UCLO":
			return "make the closure outside, once, and hand it what it needs as arguments"
		default:
			return "this LuaJIT may be too old to compile pairs and next: use ipairs or a numeric for, or a LuaJIT since 2021-09"
		}
	}
	switch {
	case u.Reason == "NYI: bytecode":
		return "a function that it calls makes a closure: make that outside, once"
	case u.End != nil:
		return "move the call out of the loop, use what LuaJIT compiles (lua-resty-core, FFI), or take a fixed number of its results"
	case u.Full:
		return "too many ways through the code are taken: make it the same for most of them, or raise maxside (jit.opt.start)"
	}
	return remedies[u.Reason]
}

// leaves are functions that answer the request or leave the coroutine: nothing that LuaJIT compiles can take their place.
var leaves = map[string]bool{
	"ngx.say": true, "ngx.print": true, "ngx.flush": true, "ngx.eof": true, "ngx.send_headers": true, "ngx.exit": true, "ngx.exec": true,
	"ngx.redirect": true, "ngx.sleep": true, "ngx.location.capture": true, "ngx.location.capture_multi": true, "ngx.req.read_body": true,
	"ngx.thread.wait": true, "coroutine.yield": true, "coroutine.resume": true,
}

const usualEnd = "usual: it answers the request or waits, and LuaJIT compiles nothing that could stand in its place"

// Usual reports whether nothing need be changed: loops that LuaJIT compiles, but not as one, and calls without which nothing works.
func (r Root) Usual() bool { return strings.HasPrefix(r.Remedy, "usual") }
