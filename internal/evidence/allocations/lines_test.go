package allocations

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/runtime/luajittest"
	"github.com/moonlap/moonlap/internal/sample/sampletest"
	"github.com/moonlap/moonlap/internal/worker/workertest"
)

// makers allocate in the lines that are marked, each in a function of its own.
var makers = []struct{ name, code string }{
	{"TNEW", "keep = { x, i, n } --!"},
	{"TDUP, and a call in the constructor", "keep = { name = 'a', size = 3, at = clock() } --!"},
	{"TDUP of several lines", "keep = { --!\n name = 'a',\n at = clock(),\n}"},
	{"CNEW", "keep = thing() --!"},
	{"CNEWI", "keep = int64(i) --!"},
	{"SNEW", "local s = 'a string of some length ' .. number --!\nx = x + #s\nkeep = s:sub(8) --!"},
	{"XSNEW", "numbers[0] = number\nkeep = ffi_string(numbers, 24) --!"},
	{"TOSTR", "keep = tostring(number) --!"},
	{"BUFSTR", "keep = 'the string ' .. number --!"},
	{"string.format", "keep = format('number %d of %s', i, 'all') --!"},
	{"buffer", "buffer:reset():put('the text ', number)\nkeep = buffer:tostring() --!"},
	{"table.concat", "parts[2] = number\nkeep = concat(parts) --!"},
	{"an array that grows", "t[#t + 1] = i --!"},
	{"a hash that grows", "t[number + 0.5] = i --!"},
	{"a first field", "local o = {} --!\nx = x + 1\no.name = i --!\nkeep = o"},
	{"a field of a field", "if i % 8 == 0 then t = {} end --!\nt.list = t.list or {} --!\nlocal l = t.list\nl[i] = l[i] or {} --!\nkeep = l[i]"},
	{"table.insert", "insert(t, i) --!"},
	{"unsunk", "local o = { i, x } --!\nif i % 3 == 0 then\n keep = o\nend"},
}

const makersHead = `local ffi = require "ffi"
ffi.cdef "double cos(double); typedef struct { char bytes[40]; } thing;"
local C, thing, int64, ffi_string = ffi.C, ffi.typeof "thing", ffi.typeof "int64_t", ffi.string
local concat, insert, format = table.concat, table.insert, string.format
local buffer, numbers, parts = require "string.buffer".new(), ffi.new "double[4]", { "the list ", 1, " of many" }
local keep, number = nil, 1e9
local function clock()
    return tonumber(C.cos(1)) * 1e3
end
local all = {
`

// makersScript is the script, and the marked lines by the first line of their function.
func makersScript() (code string, marked map[int][]int) {
	var b strings.Builder
	marked = map[int][]int{}
	b.WriteString(makersHead)
	for _, m := range makers {
		first := 1 + strings.Count(b.String(), "\n")
		marked[first] = nil
		b.WriteString("function(n, t)\nlocal x = 1\nfor i = 1, n do\nx = 1 / (x + 0.3)\nnumber = number + 1\n" + m.code + "\nx = x * 0.7\nend\nreturn x\nend,\n")
		for n, line := range strings.Split(b.String(), "\n") {
			if n+1 > first && strings.HasSuffix(line, "--!") {
				marked[first] = append(marked[first], n+1)
			}
		}
	}
	b.WriteString("}\nlocal function run()\nwhile true do for k = 1, #all do all[k](100, {}) end end\nend\njit.off(run)\nrun()\n")
	return b.String(), marked
}

// TestAllocatingLines: in compiled code, too, bytes go to the line that made the object, or stored where a table grows; not to a
// function that was called on the way, nor to the line where an object leaves the trace for which it was left out.
func TestAllocatingLines(t *testing.T) {
	s := sampletest.Sampler(t)
	code, marked := makersScript()
	w := workertest.Await(t, luajittest.Script(t, code).Process.Pid)
	type score struct{ compiled, wrong, ranges, collector int }
	scores := map[int]*score{}
	lines := map[string]int{}
	const enough, loopLine = 10, 2
	lacking := func() (all []string) {
		for n, first := range firsts(marked) {
			if scores[first] == nil || scores[first].compiled < enough {
				all = append(all, makers[n].name)
			}
		}
		return all
	}
	for end := time.Now().Add(time.Minute); len(lacking()) > 0 && time.Now().Before(end); {
		a := count(t.Context(), w, s, 2*time.Second, 1, noTick)
		if a.err != nil {
			t.Fatal(a.err)
		}
		for _, x := range a.taken {
			i := slices.IndexFunc(x.Stack, func(f profile.Frame) bool { return f.Kind == profile.Lua })
			if i < 0 || !x.Stack[i].Compiled {
				continue
			}
			f := x.Stack[i]
			for _, outer := range x.Stack[i:] { // of the function of which it was called
				if _, ok := marked[outer.FirstLine]; ok && outer.Kind == profile.Lua {
					f.FirstLine = outer.FirstLine
				}
			}
			if _, ok := marked[f.FirstLine]; !ok {
				continue
			}
			if scores[f.FirstLine] == nil {
				scores[f.FirstLine] = &score{}
			}
			one := scores[f.FirstLine]
			one.compiled++
			lines[fmt.Sprintf("%d: %d-%d", f.FirstLine, f.Line, f.LastLine)]++
			switch {
			case f.Range():
				one.ranges++
			case f.Line == f.FirstLine+loopLine: // the collector's step, which gives LuaJIT's table of strings another size
				one.collector++
			case !slices.Contains(marked[f.FirstLine], f.Line):
				one.wrong++
			}
		}
	}
	if few := lacking(); len(few) > 0 {
		t.Errorf("in a minute fewer than %d samples in compiled code of %s", enough, strings.Join(few, "; "))
	}
	for n, first := range firsts(marked) {
		if one := scores[first]; one != nil {
			t.Logf("%s, lines %v: %+v", makers[n].name, marked[first], *one)
			if one.wrong > 0 || (one.ranges+one.collector)*5 > one.compiled {
				t.Errorf("%s, whose lines are %v: of %d samples %d name another line, %d a range, %d the loop's: %v",
					makers[n].name, marked[first], one.compiled, one.wrong, one.ranges, one.collector, lines)
			}
		}
	}
}

func firsts(marked map[int][]int) (all []int) {
	for first := range marked {
		all = append(all, first)
	}
	slices.Sort(all)
	return all
}
