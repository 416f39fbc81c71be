package watch

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/worker"
)

// A readings is what a worker did over an interval, by readings of its memory that do not stop it.
type readings struct {
	Count       int
	Lua         int                  // with Lua on the stack
	States      map[luajit.State]int // of those
	Requests    map[string]int       // of those, by URI
	Phases      map[string]int       // of those, by phase of the request
	Loop        turns
	Connections use
}

// A use is how many connections were in use over the turns of an event loop that were seen.
type use struct {
	Connections
	Err error // why it is not known
}

// add counts another reading, the n-th.
func (u *use) add(used, n int) {
	u.Average += (float64(used) - u.Average) / float64(n)
	u.Most = max(u.Most, used)
}

// readEvery is how often a worker is read; that takes about 100 bytes of it.
const readEvery = 10 * time.Millisecond

// readFor reads what a worker does, again and again for a while, without stopping it. Single readings
// may fail, as when one meets a change; they are not counted. The pauses between them are irregular, so
// that they never keep step with the worker.
func readFor(ctx context.Context, w *worker.Worker, duration time.Duration) (g readings) {
	g = readings{States: map[luajit.State]int{}, Requests: map[string]int{}, Phases: map[string]int{}}
	loop, err := watchLoop(w)
	g.Loop.Err, g.Loop.Resolution = err, clockResolution()
	defer loop.close()
	_, g.Connections.Limit, g.Connections.Err = w.Nginx.Connections()
	var clock uint64
	for end := time.Now().Add(duration); time.Now().Before(end); {
		lua := g.add(w)
		if loop != nil {
			wait, now, err := loop.read(lua)
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
		case <-time.After(time.Duration((0.5 + rand.Float64()) * float64(readEvery))):
		}
	}
	return g
}

// add counts what Lua does now, and reports whether it is on the stack.
func (g *readings) add(w *worker.Worker) (lua bool) {
	vm := w.Running()
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
