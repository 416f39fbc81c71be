package compiler

import (
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/luajit"
)

// An Origin is what kept code from being compiled, and where: a call, a bytecode, or neither is known.
type Origin struct {
	File         string
	Line         int
	Called, Code string
}

// Origin is that of a root; false where it is of the whole VM, or a matter of time.
func (r Root) Origin() (Origin, bool) {
	switch r.Cause {
	case luajit.Blacklisted, luajit.Penalized, luajit.FunctionOff, luajit.Left:
	default:
		return Origin{}, false
	}
	o := Origin{File: r.File, Line: r.Line}
	switch {
	case r.Call != nil:
		o.Called = r.Call.Function
		o.calledAt(r.Call.Line)
	case len(r.Obstacles) > 0:
		o.Line, o.Code = r.Obstacles[0].Line, r.Obstacles[0].Code
	case r.Branch > 0:
		o.Line = r.Branch
	case r.Cause == luajit.Left && !r.Full:
		return Origin{}, false // no other trace goes on there yet
	}
	return o, true
}

// calledAt takes function@file.lua:line apart.
func (o *Origin) calledAt(where string) {
	_, rest, ok := strings.Cut(where, "@")
	i := strings.LastIndexByte(rest, ':')
	if !ok || i < 0 {
		return
	}
	if line, err := strconv.Atoi(rest[i+1:]); err == nil {
		o.File, o.Line = rest[:i], line
	}
}
