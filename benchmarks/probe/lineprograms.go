package main

import (
	"fmt"
	"strings"
)

// A family of programs does one kind of work in lines of a loop. What a line does is repeated, so that its cost is planted; each time
// needs what the time before has made, so that the processor cannot do two at once.
type family struct {
	name  string
	setup string // before the function
	once  string // on x, in the function work, with i
	start string // of x
	calls bool   // it calls functions of Lua, whose lines are the innermost ones
}

var families = []family{
	{name: "arithmetic", once: "x = 1 / (x + 0.1)", start: "1"},
	{name: "table reads", setup: "local t = {} for n = 1, 64 do t[n] = n * 29 % 64 + 1 end", once: "x = t[x]", start: "1"},
	{name: "fields", setup: "local o = { a = 1, b = 2 }", once: "o.a = o.b + x x = o.a - o.b", start: "1"},
	{name: "strings", setup: "local s = ('12345678'):rep(4)", once: "x = s:byte(x) - 47", start: "1"},
	{name: "FFI", setup: "local a = require('ffi').new('int[64]') for n = 0, 63 do a[n] = n * 29 % 64 end", once: "x = a[x]", start: "1"},
	{name: "bits", setup: "local bit = require('bit')", once: "x = bit.bxor(bit.rol(x, 3), i)", start: "1"},
	{name: "branches", once: "if x > 0.5 then x = x * 0.77 else x = x + 0.31 end", start: "1"},
	{name: "inlined calls", setup: "local function f(v) return 1 / (v + 0.3) end", once: "x = f(x)", start: "1", calls: true},
	{name: "nested calls", setup: "local function g(v) return v * 0.7 end local function f(v) return 1 / (g(v) + 0.3) end", once: "x = f(x)", start: "1", calls: true},
	{name: "methods", setup: "local C = {} C.__index = C function C:f(v) return v / self.by + 1 end local o = setmetatable({ by = 1.5 }, C)",
		once: "x = o:f(x)", start: "1", calls: true},
}

// costs are how often each of a program's lines does its work.
var costs = [][]int{{1, 2, 3, 4}, {4, 3, 2, 1}, {2, 4, 1, 3}}

// firstLine is where the lines of work begin.
const firstLine = 5

// program is the source of one: it runs for the rounds of its argument and prints its CPU time. without is a line that is left out, -1: none.
// Every second one runs in a coroutine.
func (f family) program(costs []int, without int, coroutine bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nlocal function work(n)\nlocal x = %s\nfor i = 1, n do\n", f.setup, f.start)
	for n, cost := range costs {
		if n != without {
			b.WriteString(strings.Repeat(f.once+" ", cost))
		}
		b.WriteString("\n")
	}
	b.WriteString("end\nreturn x\nend\n")
	if coroutine {
		b.WriteString("work = coroutine.wrap(function(n) local w = work while true do n = coroutine.yield(w(n)) end end)\n")
		return strings.Replace(b.String(), "work = coroutine", "local run = coroutine", 1) + loop("run")
	}
	return b.String() + loop("work")
}

func loop(call string) string {
	return fmt.Sprintf("local n = tonumber(arg[1])\n%s(1000)\nlocal before = os.clock()\nfor _ = 1, 20 do %s(n / 20) end\nio.stderr:write(os.clock() - before, '\\n')\n", call, call)
}
