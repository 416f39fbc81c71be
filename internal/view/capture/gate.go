package capture

import (
	"sync"
	"time"
)

// A gate lets events of all workers pass, so that captures stay few.
type gate struct {
	Pause time.Duration // between two, at least
	Limit int           // how many, at most
	Full  func() bool   // there is no room for one now; nil: there always is

	lock   sync.Mutex
	any    bool
	last   time.Duration
	passed int
	missed int
}

// Pass reports whether an event of now is to be captured; now is since the machine started. One that is not is counted.
func (g *gate) Pass(now time.Duration) bool {
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.passed >= g.Limit || g.any && now-g.last < g.Pause || g.Full != nil && g.Full() {
		g.missed++
		return false
	}
	g.any, g.last = true, now
	g.passed++
	return true
}

// Failed gives back the place of a capture that could not be kept.
func (g *gate) Failed() {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.passed--
}

// Missed is how many events did not pass since the last call.
func (g *gate) Missed() int {
	g.lock.Lock()
	defer g.lock.Unlock()
	n := g.missed
	g.missed = 0
	return n
}
