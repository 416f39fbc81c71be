package cli

import (
	"github.com/moonlap/moonlap/internal/observe"
	"github.com/moonlap/moonlap/internal/watch"
)

// watchers are the workers that are watched, from one interval to the next.
type watchers struct {
	by     map[int]*watch.Watcher // by process ID
	kinds  []observe.Kind         // of evidence that are observed besides
	budget float64                // share of a worker's time that that may cost
}

// open opens a worker, if it is a new one.
func (a *watchers) open(pid int) (*watch.Watcher, error) {
	if w := a.by[pid]; w != nil {
		return w, nil
	}
	w, err := watch.Open(pid)
	if err != nil {
		return nil, err
	}
	if len(a.kinds) > 0 {
		w.Observe(a.kinds, a.budget)
	}
	a.by[pid] = w
	return w, nil
}

// forget closes a worker that is open.
func (a *watchers) forget(pid int) {
	if w := a.by[pid]; w != nil {
		w.Close()
		delete(a.by, pid)
	}
}

func (a *watchers) close() {
	for pid := range a.by {
		a.forget(pid)
	}
}
