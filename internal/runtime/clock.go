package runtime

import (
	"cmp"
	"sync"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// Clock is the clock of programs written in Go, package testing's and ours.
var Clock = sync.OnceValue(func() record.Clock {
	const reads = 1000
	c := record.Clock{Source: "monotonic", Compiled: true}
	origin := time.Now()
	for range 20 {
		start := time.Since(origin)
		last := start
		for range reads {
			now := time.Since(origin)
			if step := float64(now - last); step > 0 {
				c.StepNS = min(cmp.Or(c.StepNS, step), step)
			}
			last = now
		}
		if cost := float64(last-start) / reads; cost > 0 {
			c.CostNS = min(cmp.Or(c.CostNS, cost), cost)
		}
	}
	return c
})
