package watch

import (
	"fmt"
	"os"
	"strings"
	"time"

	ngx "github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/worker"

	"golang.org/x/sys/unix"
)

// A turns is what was seen of a worker's event loop. Each value of Wait is of one moment: how long the
// loop's turn had lasted until then, 0 while it waited for events. An event that comes at a random
// moment waits for the rest of the turn that it meets, and over many moments the rest of a turn is as
// long as what has passed of it: so these are also samples of how long events wait for the loop.
type turns struct {
	Wait       []time.Duration
	Turns      int           // different ones that were seen
	Resolution time.Duration // of a wait: the tick of nginx's clock
	Err        error         // why there are none
}

// doing is what a worker's main thread is at.
type doing int

const (
	onCPU   doing = iota // it runs, or wants to
	polling              // it waits for events
	asleep               // it waits for something else
)

// turn follows the event loop from one moment to the next. Times are milliseconds of nginx's clock.
type turn struct {
	clock uint64 // nginx's, which stands still from a turn's begin to the next one's
	since uint64 // the turn began then, or no earlier
	known bool
}

// wait is how long the loop's turn has lasted at a moment, 0 while it waits for events. nginx sets its
// clock when it wakes up, so that tells when the turn began. But a worker that was just woken, and has
// not come to run yet, still shows the clock of the turn before: then its wait is counted from the last
// moment at which it was seen to wait for events, or from the first reading.
func (t *turn) wait(now, clock uint64, does doing, lua bool) time.Duration {
	if !t.known || clock != t.clock {
		t.since = clock
		if !t.known && does == onCPU && !lua {
			t.since = now
		}
		t.clock, t.known = clock, true
	}
	if does == polling && !lua {
		t.since = now
	}
	if now <= t.since {
		return 0
	}
	return time.Duration(now-t.since) * time.Millisecond
}

// loopWatch reads what turns are made of.
type loopWatch struct {
	w       *worker.Worker
	syscall *os.File
	turn    turn
}

func watchLoop(w *worker.Worker) (*loopWatch, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/syscall", w.PID))
	if err != nil {
		return nil, fmt.Errorf("what the worker waits for cannot be read: %w", err)
	}
	return &loopWatch{w: w, syscall: f}, nil
}

func (l *loopWatch) close() {
	if l != nil {
		l.syscall.Close()
	}
}

// Calls that wait for events, as nginx's event modules make them (x86-64).
var pollCalls = map[string]bool{"232": true, "281": true, "441": true, "7": true, "271": true, "23": true, "270": true}

// does is what the main thread is at, by /proc/PID/syscall: "running", or the number of a system call
// and its arguments, or -1.
func does(line string) doing {
	call, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case call == "running":
		return onCPU
	case pollCalls[call]:
		return polling
	}
	return asleep
}

// clockTolerance is how far apart two readings of the same coarse clock may be that are taken at once.
const clockTolerance = 50 // ms

// read reads how long the turn has lasted. lua reports that Lua is on the stack.
func (l *loopWatch) read(lua bool) (wait time.Duration, clock uint64, err error) {
	var line [256]byte
	n, err := l.syscall.ReadAt(line[:], 0)
	if n == 0 {
		return 0, 0, err
	}
	if clock, err = l.w.Nginx.Clock(); err != nil {
		return 0, 0, err
	}
	now, err := ngx.Monotonic()
	if err != nil {
		return 0, 0, err
	}
	if clock > now+clockTolerance {
		return 0, 0, fmt.Errorf("nginx's clock is not this machine's monotonic one: it is older than 1.13, or in a time namespace")
	}
	return l.turn.wait(now, clock, does(string(line[:n])), lua), clock, nil
}

// clockResolution is the tick of nginx's clock.
func clockResolution() time.Duration {
	var tick unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &tick); err != nil {
		return 0
	}
	return max(time.Millisecond, time.Duration(tick.Nano()))
}
