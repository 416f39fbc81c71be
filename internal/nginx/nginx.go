// Package nginx sees the structures of an nginx worker from outside: its connections, its timers, its
// shared memory and its counters. They are found through the variables that every nginx exports, and
// where a structure's layout depends on how nginx was built, by what must hold of it: a list that leads
// back to where it began, arrays that point at one another. What does not hold is refused, not guessed.
package nginx

import (
	"errors"
	"fmt"

	"github.com/moonlap/moonlap/internal/process"
)

// ErrLayout is the error of an nginx whose structures could not be made out.
var ErrLayout = errors.New("this nginx's layout is unknown")

// Nginx is one worker process of nginx.
type Nginx struct {
	Memory  process.Memory
	Symbols Symbols

	connections connections // once found
	streams     streams
}

// Symbols are the addresses of variables that nginx exports; 0 where it doesn't.
type Symbols struct {
	Cycle    uint64 // ngx_cycle: pointer to the configuration and connections in use
	Timers   uint64 // ngx_event_timer_rbtree
	Clock    uint64 // ngx_current_msec: milliseconds, as of the event loop's last turn
	PageSize uint64 // ngx_pagesize

	// Pointers to counters of all workers together; only with ngx_http_stub_status_module.
	Accepted, Requests, Active, Reading, Writing, Waiting uint64
}

// New makes an Nginx of the program that runs in a process.
func New(memory process.Memory, program *process.Object) *Nginx {
	n := &Nginx{Memory: memory}
	for name, at := range map[string]*uint64{
		"ngx_cycle": &n.Symbols.Cycle, "ngx_event_timer_rbtree": &n.Symbols.Timers,
		"ngx_current_msec": &n.Symbols.Clock, "ngx_pagesize": &n.Symbols.PageSize,
		"ngx_stat_accepted": &n.Symbols.Accepted, "ngx_stat_requests": &n.Symbols.Requests,
		"ngx_stat_active": &n.Symbols.Active, "ngx_stat_reading": &n.Symbols.Reading,
		"ngx_stat_writing": &n.Symbols.Writing, "ngx_stat_waiting": &n.Symbols.Waiting,
	} {
		if address, _, ok := program.Symbol(name); ok {
			*at = address
		}
	}
	return n
}

func (n *Nginx) reader() *process.Reader { return &process.Reader{Memory: n.Memory} }

// Clock is nginx's own clock in milliseconds, which stands still until the event loop turns.
func (n *Nginx) Clock() (milliseconds uint64, err error) {
	r := n.reader()
	return r.U64(n.Symbols.Clock), r.Err
}

// Counters are those of all workers of a master together, as $connections_active and stub_status
// have them.
type Counters struct {
	Accepted uint64 `json:"accepted"` // connections, since nginx started
	Requests uint64 `json:"requests"` // since nginx started
	Active   uint64 `json:"active"`   // connections of clients, at the moment
	Reading  uint64 `json:"reading"`  // of those: a request's head is read
	Writing  uint64 `json:"writing"`  // a request is worked on or answered
	Waiting  uint64 `json:"waiting"`  // idle, kept alive
}

// ErrNoCounters is the error of an nginx that does not count.
var ErrNoCounters = errors.New("this nginx does not count: it was built without ngx_http_stub_status_module")

// Counters reads the counters. Each is right, but they are of slightly different moments.
func (n *Nginx) Counters() (Counters, error) {
	var c Counters
	r := n.reader()
	for _, from := range []struct {
		symbol uint64
		to     *uint64
	}{
		{n.Symbols.Accepted, &c.Accepted}, {n.Symbols.Requests, &c.Requests}, {n.Symbols.Active, &c.Active},
		{n.Symbols.Reading, &c.Reading}, {n.Symbols.Writing, &c.Writing}, {n.Symbols.Waiting, &c.Waiting},
	} {
		if from.symbol == 0 {
			return Counters{}, ErrNoCounters
		}
		*from.to = r.U64(r.U64(from.symbol))
	}
	if r.Err != nil {
		return Counters{}, r.Err
	}
	return c, nil
}

// unknown is the error of a structure that does not hold what it must.
func unknown(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%w: %s (%w)", ErrLayout, what, err)
	}
	return fmt.Errorf("%w: %s", ErrLayout, what)
}

// words splits memory into 64-bit words; each fails for itself, as 0.
func words(r *process.Reader, at uint64, count int) []uint64 {
	all := make([]uint64, count)
	b := r.Bytes(at, 8*count)
	for i := range all {
		if len(b) >= 8 {
			all[i] = le64(b)
			b = b[8:]
		}
	}
	return all
}
