package harm

import (
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
)

// A tally is what one kind of accident has come to.
type tally struct {
	times, looking, held                                               int // it happened; while moonlap looked; while a worker was held
	requests                                                           int64
	lost, dead, frozen, breakpoints, programs, processes, files, other int
}

// tallies are those of all kinds.
type tallies struct {
	lock sync.Mutex
	of   map[string]*tally
}

// add counts what went wrong once; what all errors say, the caller knows.
func (a *tallies) add(name string, looking, held bool, requests int64, w wrongs, happened error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.of == nil {
		a.of = map[string]*tally{}
	}
	t := a.of[name]
	if t == nil {
		t = &tally{}
		a.of[name] = t
	}
	one := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	t.times++
	t.looking += one(looking)
	t.held += one(held)
	t.requests += requests
	t.lost += len(w.lost)
	t.dead += one(w.dead != nil)
	t.frozen += one(w.frozen != nil)
	t.breakpoints += one(w.breakpoints != nil)
	t.programs += one(w.programs != nil)
	t.processes += one(w.processes != nil)
	t.files += one(w.files != nil)
	t.other += one(happened != nil)
}

// write writes the tally in the order of the faults; docs/explanation/safety.md sums it up.
func (a *tallies) write(w io.Writer, order []string) {
	a.lock.Lock()
	defer a.lock.Unlock()
	out := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(out, "| accident\t| times\t| while it looked\t| a worker held\t| requests\t| lost\t| dead\t| frozen\t| breakpoints\t| programs\t| processes\t| files\t| other\t|")
	for _, name := range order {
		if t := a.of[name]; t != nil {
			fmt.Fprintf(out, "| %s\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t|\n", name, t.times, t.looking, t.held,
				t.requests, t.lost, t.dead, t.frozen, t.breakpoints, t.programs, t.processes, t.files, t.other)
		}
	}
	out.Flush()
}
