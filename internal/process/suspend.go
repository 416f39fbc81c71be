package process

import "sync"

// touching is read-locked by whoever has another process in its hands: holds it, or has probes in its text. This program is
// suspended while it is locked.
var touching sync.RWMutex

var (
	leaveLock sync.Mutex
	leave     = make(chan struct{}) // closed: whoever touches a process has to let go
)

// Touch begins to have another process in hand, until release is called. It waits while this program is about to be
// suspended. Who goes on for longer than a moment has to look at Leave.
func Touch() (release func()) {
	touching.RLock()
	return touching.RUnlock
}

// Leave is closed when this program is about to be suspended, which waits until all that Touch began is released.
func Leave() <-chan struct{} {
	leaveLock.Lock()
	defer leaveLock.Unlock()
	return leave
}

// Leaving reports that Leave is closed.
func Leaving() bool {
	select {
	case <-Leave():
		return true
	default:
		return false
	}
}

// Suspend calls stop, which suspends this program and returns when it goes on, at a time when it touches no process: a
// suspended program could not let one go, nor see to it that its probes keep to their budget.
func Suspend(stop func()) {
	leaveLock.Lock()
	close(leave)
	leaveLock.Unlock()
	touching.Lock()
	defer touching.Unlock()
	stop()
	leaveLock.Lock()
	leave = make(chan struct{})
	leaveLock.Unlock()
}
