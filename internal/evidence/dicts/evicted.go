package dicts

import (
	"time"

	"github.com/moonlap/moonlap/internal/nginx"
)

// evicted works out how many entries were thrown out alive. While one of those noted is in its place, what
// is thrown out is among them. Where none is, each piece that there was no room for threw out one more.
func evicted(noted []nginx.Entry, f nginx.Fate, noRoom float64, elapsed time.Duration) Evicted {
	e := Evicted{Noted: len(noted), Moved: f.Moved, Gone: f.Gone, Alive: f.Alive}
	if f.Gone+f.Moved == 0 || elapsed <= 0 {
		return e
	}
	e.PerSecond = float64(f.Alive) / elapsed.Seconds()
	if f.Gone+f.Moved == len(noted) {
		e.AtLeast = f.Expired < len(noted) || noRoom > 0
		e.PerSecond = max(e.PerSecond, noRoom*forcedAlive(noted))
	}
	return e
}

// forcedAlive is the share of entries that had not expired among those that are thrown out for want of room,
// if all noted leave by it. Most that have expired leave otherwise: a set deletes up to two that have, if
// they are next; and where it finds no room, it throws out the next one, and up to two behind it that have.
func forcedAlive(noted []nginx.Entry) float64 {
	const besides = 2
	expired := func() bool { return len(noted) > 0 && noted[0].Expired() }
	pass := func() {
		for n := 0; n < besides && expired(); n++ {
			noted = noted[1:]
		}
	}
	alive, forced := 0, 0
	for len(noted) > 0 {
		if pass(); len(noted) == 0 {
			break
		}
		forced++
		if !expired() {
			alive++
		}
		noted = noted[1:]
		pass()
	}
	return float64(alive) / float64(max(forced, 1))
}
