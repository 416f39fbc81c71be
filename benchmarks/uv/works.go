package main

import (
	"fmt"
	"regexp"
	"strconv"
)

// A work is a program with its arguments, the same for every side.
type work struct {
	Name       string
	Folder     string
	Operations int                     // at scale 1
	Unit       string                  // what one operation is
	Args       func(n string) []string // n: operations
	Aim        aim
}

// An aim is what moonlap.uv must reach: at most AtMost times the CPU time of Against; or, where
// Against is empty, AtMost nanoseconds an operation.
type aim struct {
	Against string
	AtMost  float64
}

func (a aim) String() string {
	switch a.Against {
	case "":
		return fmt.Sprintf("≤ %g ns", a.AtMost)
	case "C":
		return fmt.Sprintf("≤ %g", a.AtMost)
	}
	return fmt.Sprintf("≤ %g of %s", a.AtMost, a.Against)
}

var works = append([]work{
	idle("idle handle beside a socket", 1, 2e6, 1, aim{"C", 0.3}),
	idle("idle handle beside a far timer", 1, 2e6, 2, aim{"C", 0.3}),
	idle("idle handle beside timer and socket", 1, 2e6, 3, aim{"C", 0.3}),
	idle("idle handle, nothing to poll", 1, 2e6, 0, aim{"C", 0.05}),
	idle("1000 idle handles", 1000, 1e7, 0, aim{"C", 1.7}),
	{"1e6 one-shot timers", "timers", 1e6, "timer",
		func(n string) []string { return []string{n} }, aim{"C", 0.62}},
	echo("tcp", 1), echo("tcp", 100), echo("pipe", 1), echo("pipe", 100),
	{"sync fs_stat", "fs_stat", 3e5, "call",
		func(n string) []string { return []string{n, "measure.h"} }, aim{"C", 1.2}},
	accept(1, aim{}), accept(100, aim{"C", 1.15}),
	{"bulk write, one process", "bulk", 2000, "MiB",
		func(n string) []string { return []string{n} }, aim{"luv", 1.1}},
	{"UDP", "udp", 50_000, "round trip",
		func(n string) []string { return []string{n} }, aim{"C", 1.1}},
	{"HTTP, connections: 50", "http", 50_000, "request",
		func(n string) []string { return []string{"50", n} }, aim{"C", 1.1}},
	{"short connections, in flight: 10", "short", 5000, "connection",
		func(n string) []string { return []string{n, "10"} }, aim{"C", 1.1}},
	{"coroutine style, connections: 10", "coroutine", 50_000, "round trip",
		func(n string) []string { return []string{"10", n} }, aim{"luv", 1}},
	{"timers with fresh closures", "closures", 1e6, "call",
		func(n string) []string { return []string{"100", n} }, aim{"C", 1.1}},
	ownLoop("nowait"), ownLoop("once"),
	{"new_work", "work", 50_000, "piece of work",
		func(n string) []string { return []string{n, "16"} }, aim{"C", 1.2}},
	async(1), async(100),
	{"spawn", "spawn", 300, "child",
		func(n string) []string { return []string{n} }, aim{"C", 1.2}},
	{"getaddrinfo", "dns", 20_000, "query",
		func(n string) []string { return []string{n} }, aim{"C", 1.2}},
	file("sync", 100_000), file("async", 10_000),
}, append(dispatches(), making()...)...)

func ownLoop(mode string) work {
	return work{fmt.Sprintf("own loop around run(%q)", mode), "ownloop", 1e6, "turn",
		func(n string) []string { return []string{mode, n} }, aim{"luv", 1}}
}

func async(batch int) work {
	return work{fmt.Sprintf("async, sends a turn: %d", batch), "async", 100_000 * (1 + batch/50), "send",
		func(n string) []string { return []string{n, strconv.Itoa(batch)} }, aim{"C", 1.2}}
}

func file(mode string, n int) work {
	return work{mode + " open, fstat, read, close", "file", n, "file",
		func(n string) []string { return []string{mode, n, "measure.h"} }, aim{"C", 1.2}}
}

func idle(name string, handles, calls, poll int, aim aim) work {
	return work{name, "idle", calls, "call", func(n string) []string {
		return []string{strconv.Itoa(handles), n, strconv.Itoa(poll)}
	}, aim}
}

func echo(kind string, connections int) work {
	name, atMost := "TCP", 1.03
	if kind == "pipe" {
		name, atMost = "pipe", 1.1
	}
	return work{fmt.Sprintf("%s echo, connections: %d", name, connections), "echo", 50_000, "round trip",
		func(n string) []string { return []string{kind, strconv.Itoa(connections), n} }, aim{"C", atMost}}
}

// Kinds of handles that live in libuv, and timers and idle handles, which moonlap.uv has in Lua.
func making() (list []work) {
	for _, kind := range []string{"timer", "idle", "async", "signal", "fs_event", "fs_poll", "tcp", "udp", "pipe"} {
		list = append(list, work{"make and close: " + kind, "making", 500_000, "handle",
			func(n string) []string { return []string{kind, n} }, aim{"luv", 1}})
	}
	return list
}

func accept(flight int, aim aim) work {
	return work{fmt.Sprintf("accept, in flight: %d", flight), "accept", 5000, "connection",
		func(n string) []string { return []string{n, strconv.Itoa(flight)} }, aim}
}

func dispatches() (list []work) {
	for _, functions := range []int{1, 16, 64, 256} {
		w := work{fmt.Sprintf("dispatch, prototypes: %d", functions), "dispatch", 5e6, "call",
			func(n string) []string { return []string{strconv.Itoa(functions), n} }, aim{}}
		if functions == 256 {
			w.Aim = aim{"", 60}
		}
		list = append(list, w)
	}
	return append(list, work{"dispatch, 32 prototypes met late", "dispatch", 5e6, "call",
		func(n string) []string { return []string{"32", n, "100"} }, aim{"", 60}})
}

func choose(list []work, re *regexp.Regexp) (chosen []work) {
	for _, w := range list {
		if re.MatchString(w.Name) {
			chosen = append(chosen, w)
		}
	}
	return chosen
}
