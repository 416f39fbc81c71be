package worker

import (
	"context"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
)

// Glances is what Lua did in a worker over an interval, as glances tell that do not stop it.
type Glances struct {
	Count    int
	Lua      int                  // with Lua on the stack
	States   map[luajit.State]int // of those
	Requests map[string]int       // of those, by URI
	InUse    uint64               // bytes of Lua's heap, the last time
	Traces   int                  // compiled ones that there are, the last time
}

// glanceEvery is how often a worker is glanced at; a glance reads some 100 bytes of it.
const glanceEvery = 10 * time.Millisecond

// Glance reads what the worker's Lua does, again and again for a while, without stopping it. Single
// glances may fail, as when one hits a change; they are not counted.
func (w *Worker) Glance(ctx context.Context, duration time.Duration) Glances {
	g := Glances{States: map[luajit.State]int{}, Requests: map[string]int{}}
	tick := time.NewTicker(glanceEvery)
	defer tick.Stop()
	for end := time.Now().Add(duration); time.Now().Before(end); {
		if status, err := w.VM.Status(); err == nil {
			g.Count++
			g.InUse = status.InUse
			if status.Running {
				g.Lua++
				g.States[status.State]++
				if address, err := w.VM.Request(status.Current); err == nil {
					if r, ok := w.Request(w.Process, address); ok && r.URI != "" {
						g.Requests[r.URI]++
					}
				}
			}
		}
		select {
		case <-ctx.Done():
			return g
		case <-tick.C:
		}
	}
	g.Traces = w.VM.TraceCount()
	return g
}
