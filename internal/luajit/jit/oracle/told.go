package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A trace is what LuaJIT told of one while it compiled it.
type trace struct {
	number            int
	address, from, to uint64
	since             []origin // what instructions come from, in the order of their references
	code              []piece
}

// An origin is that of all instructions from one on: lines, outermost function first, or an instruction of which they are a copy.
type origin struct {
	ref   int
	lines []int
	copy  int // 0: they are none
}

// A piece of machine code is of one instruction.
type piece struct {
	From, To uint64
	Ref      int
}

// add notes where instructions come from. LuaJIT drops the last ones where a loop that it has copied does not keep its types.
func (t *trace) add(o origin) {
	t.since = slices.DeleteFunc(t.since, func(old origin) bool { return old.ref >= o.ref })
	t.since = append(t.since, o)
}

// lines are those of an instruction, outermost function first; nil where it comes from no bytecode.
func (t *trace) lines(ref int) []int {
	for range 2 { // of what it is a copy
		var found *origin
		for i := range t.since {
			if t.since[i].ref <= ref {
				found = &t.since[i]
			}
		}
		if found == nil || found.copy == 0 {
			if found == nil {
				return nil
			}
			return found.lines
		}
		ref = found.copy
	}
	return nil
}

// at is the piece of machine code at an address.
func (t *trace) at(machine uint64) (piece, bool) {
	for _, p := range t.code {
		if machine >= p.From && machine < p.To {
			return p, true
		}
	}
	return piece{}, false
}

// readTold reads the file that LuaJIT wrote (lj_oracle.h) and returns the traces that are there at its end.
func readTold(file string) ([]*trace, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("this luajit has not told anything: is it patched? %w", err)
	}
	defer f.Close()
	alive, open := map[int]*trace{}, map[int]*trace{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		var n []uint64
		for _, w := range words[1:] {
			value, err := strconv.ParseUint(w, 0, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", file, lines.Text(), err)
			}
			n = append(n, value)
		}
		if words[0] == "flush" {
			clear(alive)
			continue
		}
		if len(n) == 0 {
			return nil, fmt.Errorf("%s: %q names no trace", file, lines.Text())
		}
		if err := hear(alive, open, words[0], n); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", file, lines.Text(), err)
		}
	}
	var all []*trace
	for _, t := range alive {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *trace) int { return a.number - b.number })
	return all, lines.Err()
}

// hear takes one line: its word and numbers.
func hear(alive, open map[int]*trace, word string, n []uint64) error {
	number := int(n[0])
	if word == "start" {
		open[number] = &trace{number: number}
		return nil
	}
	t := open[number]
	least := map[string]int{"line": 2, "copy": 3, "assemble": 1, "code": 4, "stop": 4}[word]
	switch {
	case t == nil:
		return fmt.Errorf("the trace was not begun")
	case least == 0 || len(n) < least:
		return fmt.Errorf("the patch is another one")
	}
	switch word {
	case "line":
		o := origin{ref: int(n[1])}
		for _, line := range n[2:] {
			o.lines = append(o.lines, int(line))
		}
		t.add(o)
	case "copy":
		t.add(origin{ref: int(n[1]), copy: int(n[2])})
	case "assemble":
		t.code = nil
	case "code":
		if n[2] < n[3] {
			t.code = append(t.code, piece{n[2], n[3], int(n[1])})
		}
	case "stop":
		t.address, t.from, t.to = n[1], n[2], n[3]
		alive[number] = t
		delete(open, number)
	}
	return nil
}
