package worker

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
)

// Glances is what a worker did over an interval, as glances tell that do not stop it.
type Glances struct {
	Count       int
	Lua         int                  // with Lua on the stack
	States      map[luajit.State]int // of those
	Requests    map[string]int       // of those, by URI
	Phases      map[string]int       // of those, by phase of the request
	Loop        Loop
	Connections Use
}

// Use is how much of something was in use over the turns of an event loop that were seen.
type Use struct {
	Average float64
	Most    int
	Limit   int
	Err     error // why it is not known
}

// add counts another reading, the n-th.
func (u *Use) add(used, n int) {
	u.Average += (float64(used) - u.Average) / float64(n)
	u.Most = max(u.Most, used)
}

// glanceEvery is how often a worker is glanced at; a glance reads some 100 bytes of it.
const glanceEvery = 10 * time.Millisecond

// Glance reads what the worker does, again and again for a while, without stopping it. Single glances
// may fail, as when one hits a change; they are not counted. The pauses between them are irregular, so
// that they never keep step with the worker.
func (w *Worker) Glance(ctx context.Context, duration time.Duration) (g Glances) {
	g = Glances{States: map[luajit.State]int{}, Requests: map[string]int{}, Phases: map[string]int{}}
	loop, err := w.watchLoop()
	g.Loop.Err, g.Loop.Resolution = err, clockResolution()
	defer loop.close()
	_, g.Connections.Limit, g.Connections.Err = w.Nginx.Connections()
	var clock uint64
	for end := time.Now().Add(duration); time.Now().Before(end); {
		lua := w.glance(&g)
		if loop != nil {
			wait, now, err := loop.look(lua)
			g.Loop.Err = err
			if err == nil {
				g.Loop.Wait = append(g.Loop.Wait, wait)
			}
			if now != clock {
				clock = now
				g.Loop.Turns++
				if used, _, err := w.Nginx.Connections(); err == nil {
					g.Connections.add(used, g.Loop.Turns)
				}
			}
		}
		select {
		case <-ctx.Done():
			return g
		case <-time.After(time.Duration((0.5 + rand.Float64()) * float64(glanceEvery))):
		}
	}
	return g
}

// glance counts what Lua does at the moment, and tells whether it is on the stack.
func (w *Worker) glance(g *Glances) (lua bool) {
	vm := w.running()
	status, err := vm.Status()
	if err != nil {
		return false
	}
	g.Count++
	if !status.Running {
		return false
	}
	g.Lua++
	g.States[status.State]++
	address, err := vm.Request(status.Current)
	if err != nil {
		return true
	}
	r, ok := w.Request(w.Process, address)
	if !ok {
		return true
	}
	if r.URI != "" {
		g.Requests[r.URI]++
	}
	if phase := w.PhaseIn(w.Memory, address); phase != "" {
		g.Phases[phase]++
	}
	return true
}
