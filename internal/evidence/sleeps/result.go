// Package sleeps is evidence of what put workers to sleep, so that their event loops stood still, and of what became of their time.
package sleeps

import (
	"cmp"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/evidence/locks"
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/sample"
)

// Name is that of the kind.
const Name = "sleeps"

// A Result is what the kernel reported of workers' time.
type Result struct {
	Times  Times   `json:"times"`
	Blocks []Block `json:"blocks"` // that which took longest in total first
}

// Times are what became of the workers' time: of their main threads, which serve requests.
type Times struct {
	Began   time.Duration `json:"began_ns"` // CLOCK_MONOTONIC
	Elapsed time.Duration `json:"elapsed_ns"`
	probe.Spent
	Unknown time.Duration `json:"unknown_ns"` // the rest
}

// A Block is a line of Lua that puts the worker to sleep in one way, for one URI: all such sleeps.
type Block struct {
	Line    string        `json:"line"`                // function@file:line; "" where nginx itself does it
	Called  string        `json:"called"`              // function that the line calls
	Call    string        `json:"system_call"`         // that it slept in
	Cause   string        `json:"cause"`               // what for: "a program", "the disk"
	URI     string        `json:"uri,omitempty"`       // "" without a request: a timer, say
	Phase   string        `json:"phase,omitempty"`     // "" where it is not known
	Count   int           `json:"count"`               // sleeps
	Total   time.Duration `json:"total_ns"`            // until it was woken each time
	Longest time.Duration `json:"longest_ns"`          //
	Queued  time.Duration `json:"queued_ns,omitempty"` // that it waited for a processor after that
	Advice  string        `json:"advice"`
}

func init() {
	evidence.Register(Name, func() evidence.Result { return &Result{} })
	observe.FromSamples(Name, func(all, chosen sample.Series) *Result { return Of(all) })
}

// Of is that of samples; nil where the kernel did not report sleeps.
func Of(l sample.Series) *Result {
	if !l.Timed {
		return nil
	}
	r := l.Rest
	return &Result{
		Blocks: Blocks(l.Samples),
		Times: Times{
			Began: l.Began, Elapsed: l.Elapsed, Spent: r.Spent, Unknown: max(0, l.Elapsed-r.Computed-r.Idle-r.Slept-r.Queued-r.Halted),
		},
	}
}

// Blocks are the sleeps among samples by what made the worker sleep.
func Blocks(samples []sample.Sample) []Block {
	var all []Block
	for _, s := range samples {
		if s.Sleep == nil {
			continue
		}
		one := Block{
			Called: sample.Called(s.Stack), Call: s.Sleep.Call, Cause: string(s.Sleep.Cause), URI: s.Request.URI, Phase: s.Phase,
			Count: 1, Total: s.Sleep.For, Longest: s.Sleep.For, Queued: s.Sleep.Queued,
		}
		if s.Lua {
			one.Line = sample.Asker(s.Stack).Where()
			if one.Advice = Advice(one.Called); s.Lock != "" {
				one.Advice = locks.Advice
			}
		}
		all = append(all, one)
	}
	return grouped(all)
}

func grouped(all []Block) []Block {
	type key struct{ line, called, call, cause, uri, phase string }
	groups := evidence.Group(all, func(b Block) key { return key{b.Line, b.Called, b.Call, b.Cause, b.URI, b.Phase} },
		func(to *Block, one Block) {
			to.Count += one.Count
			to.Total += one.Total
			to.Longest = max(to.Longest, one.Longest)
			to.Queued += one.Queued
		})
	slices.SortStableFunc(groups, func(a, b Block) int { return cmp.Compare(b.Total, a.Total) })
	return groups
}

// Merge is both together.
func (r *Result) Merge(other evidence.Result) evidence.Result {
	o := other.(*Result)
	t, u := r.Times, o.Times
	return &Result{
		Blocks: grouped(slices.Concat(r.Blocks, o.Blocks)),
		Times: Times{
			Began: min(t.Began, u.Began), Elapsed: t.Elapsed + u.Elapsed, Spent: t.Spent.And(u.Spent), Unknown: t.Unknown + u.Unknown,
		},
	}
}
