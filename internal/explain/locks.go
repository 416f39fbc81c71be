package explain

import (
	"cmp"
	"slices"

	"github.com/moonlap/moonlap/internal/worker"
)

// A LockWait is the samples that wait for the lock of one zone of shared memory, in one line of Lua.
type LockWait struct {
	Zone   string  `json:"zone"`
	Line   string  `json:"line"`   // function@file:line, outside of lua-resty-core; "" where nginx waits without Lua
	Called string  `json:"called"` // function that the line calls
	Share  float64 `json:"share"`  // of all samples, or of their time
	Asleep float64 `json:"asleep"` // the part of the share that slept for it; the rest computed, trying again and again
	Looks  int     `json:"looks"`
}

// LockWaits are the samples that wait for locks, those with the largest share first.
func LockWaits(l worker.Looks) []LockWait {
	type key struct{ zone, line, called string }
	index := map[key]int{}
	all := []LockWait{}
	whole := max(1, total(l, l.Samples))
	for _, s := range l.Samples {
		if s.Lock == "" {
			continue
		}
		k := key{s.Lock, "", called(s.Stack)}
		if s.Lua {
			k.line = where(asker(s.Stack))
		}
		i, ok := index[k]
		if !ok {
			i = len(all)
			index[k] = i
			all = append(all, LockWait{Zone: k.zone, Line: k.line, Called: k.called})
		}
		share := weight(l, s) / whole
		all[i].Looks++
		all[i].Share += share
		if s.Asleep {
			all[i].Asleep += share
		}
	}
	slices.SortStableFunc(all, func(a, b LockWait) int { return cmp.Compare(b.Share, a.Share) })
	return all
}
