// Package host tells how fast the machine is while something else runs on it: it times yardsticks now and then.
package host

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/lap"
)

// A Timing is what the yardsticks took at a moment.
type Timing struct {
	At time.Time
	lap.Timing
}

// A Sampler times the yardsticks again and again, on a thread of its own, until it is stopped.
type Sampler struct {
	stop  chan struct{}
	ended chan struct{}

	mu      sync.Mutex
	timings []Timing
}

const (
	// every is how long a sampler waits between two timings. One takes 3 µs, so it costs 0.03 % of a processor.
	every = 10 * time.Millisecond
	// Of a timing that something interrupted nothing is known of the machine's speed; it is taken again, so often.
	tries = 3
	kept  = 60_000 // timings: ten minutes
)

// Start begins to sample. Where there are no yardsticks it returns nil, of which all methods may be called.
func Start() *Sampler {
	y, err := lap.NewYardsticks()
	if err != nil {
		return nil
	}
	s := &Sampler{stop: make(chan struct{}), ended: make(chan struct{})}
	go s.run(y)
	return s
}

func (s *Sampler) run(y *lap.Yardsticks) {
	defer close(s.ended)
	runtime.LockOSThread() // whose context switches are counted
	defer runtime.UnlockOSThread()
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticks.C:
		}
		for range tries {
			before := switches()
			timing := y.Time()
			if switches() == before {
				s.add(Timing{time.Now(), timing})
				break
			}
		}
	}
}

func (s *Sampler) add(t Timing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.timings) == kept {
		s.timings = slices.Delete(s.timings, 0, kept/2)
	}
	s.timings = append(s.timings, t)
}

// switches counts how often others took this thread's processor.
func switches() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return u.Nivcsw
}

// Stop ends it. What it saw can still be asked for.
func (s *Sampler) Stop() {
	if s == nil {
		return
	}
	close(s.stop)
	<-s.ended
}

// Since are the timings from a moment on, in order.
func (s *Sampler) Since(from time.Time) []Timing {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, _ := slices.BinarySearchFunc(s.timings, from, func(t Timing, at time.Time) int { return t.At.Compare(at) })
	return slices.Clone(s.timings[i:])
}

// Speed is how fast the machine was, by some timings.
type Speed struct {
	Timings int     `json:"looks"`
	Quiet   float64 `json:"quiet"`  // share of the timings that were near the best
	Slower  float64 `json:"slower"` // by how much the yardsticks took longer, the median of the others: 0.4 is 40 %
}

// SpeedOf is that of timings, against the best that is known; false of fewer than five.
func SpeedOf(timings []Timing, best lap.Timing) (s Speed, ok bool) {
	const few = 5
	var slower []float64
	for _, t := range timings {
		if by, quiet := t.Slower(best); quiet {
			s.Quiet++
		} else {
			slower = append(slower, by)
		}
	}
	s.Timings = len(timings)
	if s.Timings < few {
		return Speed{}, false
	}
	s.Quiet /= float64(s.Timings)
	if slices.Sort(slower); len(slower) > 0 {
		s.Slower = slower[len(slower)/2]
	}
	return s, true
}

// Best is the best of timings: their 2 % quantile, of each kind. With known ones, by kind in ns, it is no worse than these.
func Best(timings []Timing, known map[string]float64) lap.Timing {
	best := lap.Timing{Core: math.Inf(1), Cache: math.Inf(1)}
	if ns := known["core"]; ns > 0 {
		best.Core = ns
	}
	if ns := known["cache"]; ns > 0 {
		best.Cache = ns
	}
	if len(timings) == 0 {
		return best
	}
	lowest := func(of func(Timing) float64) float64 {
		var times []float64
		for _, t := range timings {
			times = append(times, of(t))
		}
		slices.Sort(times)
		return times[len(times)/50]
	}
	best.Core = min(best.Core, lowest(func(t Timing) float64 { return t.Core }))
	best.Cache = min(best.Cache, lowest(func(t Timing) float64 { return t.Cache }))
	return best
}
