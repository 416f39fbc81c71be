package process

import "sync"

// stops is read-locked while this program holds a process, and locked while it is itself suspended.
var stops sync.RWMutex
