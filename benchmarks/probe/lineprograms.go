package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A family of programs does one kind of work in lines of a loop. What a line does is repeated, so that its cost is planted; each time
// needs what the time before has made, so that the processor cannot do two at once. It leaves x of the type that it has found, and costs
// the same for each x: else the first line in the loop costs more than the same work in the next one, and ablation moves that.
type family struct {
	name  string
	setup string // before the function
	once  string // on x, in the function work, with i; K is another number each time
	each  string // once in a line, before that
	start string // of x
	stops bool   // its traces end in its lines, where the interpreter goes on: its samples count, too
	calls bool   // it calls functions of Lua, whose lines are the innermost ones
	loops bool   // it has loops in its lines
}

// rounds of a program's loop in one call.
func (f family) rounds() int {
	if f.loops {
		return 50
	}
	return 1000
}

var families = []family{
	{name: "arithmetic", once: "x = 1 / (x + 0.1)", start: "1"},
	{name: "math functions", setup: "local floor, sqrt, max = math.floor, math.sqrt, math.max", once: "x = sqrt(max(floor(x), 1)) + 3", start: "1"},
	{name: "table reads", setup: "local t = {} for n = 1, 64 do t[n] = n * 29 % 64 + 1 end", once: "x = t[x]", start: "1"},
	{name: "table writes", setup: "local t = {} for n = 1, 64 do t[n] = n end", once: "t[x] = i x = x * 5 % 61 + 1", start: "1"},
	{name: "fields", setup: "local o = { a = 1, b = 2 }", once: "o.a = o.b + x x = o.a - o.b", start: "1"},
	{name: "strings", setup: "local s = ('12345678'):rep(4)", once: "x = s:byte(x) - 47", start: "1"},
	{name: "substrings", setup: "local s, t = ('0123456789'):rep(2), {} for n = 1, 10 do t[s:sub(n, n + 1)] = n * 3 % 10 + 1 end", once: "x = t[s:sub(x, x + 1)]", start: "1"},
	{name: "concatenation", setup: "local t = { number1 = 2, number2 = 1 }", once: "x = t['number' .. x]", start: "1"},
	{name: "FFI arrays", setup: "local a = require('ffi').new('int[64]') for n = 0, 63 do a[n] = n * 29 % 64 end", once: "x = a[x]", start: "1"},
	{name: "FFI structs", setup: "local p = require('ffi').new('struct { double by; int n; }', 1.5, 0)", once: "p.n = p.n + 1 x = x / p.by + 1", start: "1"},
	{name: "FFI calls", setup: "local ffi = require('ffi') ffi.cdef('double cos(double);') local C = ffi.C", once: "x = C.cos(x) + 0.5", start: "1"},
	{name: "FFI calls of 1 ns", setup: "local ffi = require('ffi') ffi.cdef('int abs(int);') local C = ffi.C", once: "x = C.abs(3 - x)", start: "1"},
	{name: "buffers", setup: "local b, t = require('string.buffer').new(), { 0, 0, 1 }", once: "x = t[#b:reset():put('a', x, 'b')]", start: "1"},
	{name: "bits", setup: "local bit = require('bit')", once: "x = bit.bxor(bit.rol(x, 3), i)", start: "1"},
	{name: "branches", setup: "local t = {} for n = 1, 64 do t[n] = n % 16 ~= 0 end", once: "if t[(i + K) % 64 + 1] then x = 1 / (x + 0.1) else x = x * 0.5 + 1 end", start: "1"},
	{name: "branches on data", once: "if x > 0.5 then x = x * 0.77 else x = x + 0.31 end", start: "1"},
	{name: "predicted branches", setup: "local t = {} for n = 1, 64 do t[n] = n ~= 17 end", once: "if t[(i + K) % 64 + 1] then x = 1 / (x + 0.1) else x = x * 0.5 + 1 end", start: "1"},
	{name: "predicted branches on data", once: "if x > K * 1e-3 then x = 1 / (x + 0.1) else x = x + 0.31 end", start: "1"},
	{name: "side traces", once: "if (i + K) % 3 == 0 then x = x / 1.1 elseif (i + K) % 3 == 1 then x = 1 / (x + 0.1) else x = x * 0.9 + 1 end", start: "1"},
	{name: "stitched traces", setup: "local frexp = math.frexp", each: "x = frexp(x) ", once: "x = 1 / (x + 0.1)", start: "1", stops: true},
	{name: "loops in lines", once: "for j = 1, 40 do x = 1 / (x + j) end", start: "1", loops: true},
	{name: "ipairs", setup: "local t = {} for n = 1, 40 do t[n] = n end", once: "for j, v in ipairs(t) do x = v / (x + j) end", start: "1", loops: true},
	{name: "inlined calls", setup: "local function f(v) return 1 / (v + 0.3) end", once: "x = f(x)", start: "1", calls: true},
	{name: "nested calls", setup: "local function g(v) return v * 0.7 end local function f(v) return 1 / (g(v) + 0.3) end", once: "x = f(x)", start: "1", calls: true},
	{name: "methods", setup: "local C = {} C.__index = C function C:f(v) return v / self.by + 1 end local o = setmetatable({ by = 1.5 }, C)",
		once: "x = o:f(x)", start: "1", calls: true},
	{name: "closures", setup: "local function counter() local n = 1 return function(v) n = n + 1 return v / n + 1 end end local f = counter()",
		once: "x = f(x)", start: "1", calls: true},
	{name: "varargs", setup: "local function f(...) local v, w = ... return v / w + 1 end", once: "x = f(x, 3)", start: "1", calls: true},
	{name: "metamethods", setup: "local o = setmetatable({}, { __index = function(_, v) return 1 / (v + 0.3) end })", once: "x = o[x]", start: "1.5", calls: true},
}

// costs are how often each of a program's lines does its work.
var costs = [][]int{{1, 2, 3, 4}, {4, 2, 3, 1}}

// firstLine is where the lines of work begin; the loop is the line before.
const firstLine = 5

// Programs less than whole: a line left out by its number, or all of them.
const (
	whole = -1
	empty = -2
)

// program is the source of one, which returns its function. without is a line that is left out. Every second one runs in a coroutine.
func (f family) program(costs []int, without int, coroutine bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nlocal function work(n)\nlocal x = %s\nfor i = 1, n do\n", f.setup, f.start)
	k := 0
	for n, cost := range costs {
		if n != without && without != empty {
			b.WriteString(f.each)
		}
		for range cost {
			k++
			if n != without && without != empty {
				b.WriteString(strings.ReplaceAll(f.once, "K", strconv.Itoa(k)) + " ")
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("end\nreturn x\nend\n")
	if coroutine {
		b.WriteString("return coroutine.wrap(function(n) while true do n = coroutine.yield(work(n)) end end)\n")
	} else {
		b.WriteString("return work\n")
	}
	return b.String()
}

// driver runs the program of its first argument, so often, for a number of rounds.
const driver = "local run, times = dofile(arg[1]), tonumber(arg[2]) for _ = 1, times do run(%d) end\n"

// cases is a bench file of a program's parts in a folder.
const cases = `local moonlap = require "moonlap"
local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
for _, part in ipairs { %s } do
    local run = dofile(folder .. part .. ".lua")
    moonlap.bench(part, function() return run(%d) end)
end
`

// writePrograms writes the first program of each kind into a folder: LuaJIT's own record of them is made by internal/luajit/jit/oracle.
func writePrograms(folder string) error {
	if folder == "" {
		return fmt.Errorf("into which folder?")
	}
	for _, f := range families {
		name := strings.ReplaceAll(strings.ToLower(f.name), " ", "-") + ".lua"
		if err := os.WriteFile(filepath.Join(folder, name), []byte(f.program(costs[0], whole, false)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
