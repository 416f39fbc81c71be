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
	idle("idle handle, polling every turn", 1, 2e6, 1, aim{"C", 1.06}),
	idle("idle handle, nothing to poll", 1, 2e6, 0, aim{"C", 0.05}),
	idle("1000 idle handles", 1000, 1e7, 0, aim{"C", 1.7}),
	{"1e6 one-shot timers", "timers", 1e6, "timer",
		func(n string) []string { return []string{n} }, aim{"C", 0.62}},
	echo(1), echo(100),
	{"sync fs_stat", "fs_stat", 3e5, "call",
		func(n string) []string { return []string{n, "measure.h"} }, aim{"C", 1.2}},
	accept(1, aim{}), accept(100, aim{"C", 1.15}),
	{"bulk write, one process", "bulk", 2000, "MiB",
		func(n string) []string { return []string{n} }, aim{"luv", 1.1}},
}, dispatches()...)

func idle(name string, handles, calls, poll int, aim aim) work {
	return work{name, "idle", calls, "call", func(n string) []string {
		return []string{strconv.Itoa(handles), n, strconv.Itoa(poll)}
	}, aim}
}

func echo(connections int) work {
	return work{fmt.Sprintf("TCP echo, connections: %d", connections), "echo", 50_000, "round trip",
		func(n string) []string { return []string{strconv.Itoa(connections), n} }, aim{"C", 1.03}}
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
			w.Aim = aim{"", 50}
		}
		list = append(list, w)
	}
	return list
}

func choose(list []work, re *regexp.Regexp) (chosen []work) {
	for _, w := range list {
		if re.MatchString(w.Name) {
			chosen = append(chosen, w)
		}
	}
	return chosen
}
