package push

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Bounds of what waits for a server that is away.
const (
	mostWaiting = 360 // an hour of profiles of 10 s
	mostBytes   = 32 << 20
)

// A Queue sends requests in order. While the server is away they wait; where there is no room for more, the oldest go.
type Queue struct {
	Server *Server
	Note   func(text string)                                // gets what people should know
	Sleep  func(ctx context.Context, d time.Duration) error // waits; nil: as time passes

	lock    sync.Mutex
	waiting []Request
	bytes   int
	added   chan bool // there may be one
	Tally
}

// A Tally is what became of requests.
type Tally struct {
	Sent    int
	Dropped int // there was no room
	Refused int // by the server
	Left    int // when Flush ended
}

// NewQueue is the queue of a server. Run sends what is put into it.
func NewQueue(s *Server, note func(string)) *Queue {
	return &Queue{Server: s, Note: note, Sleep: sleep, added: make(chan bool, 1)}
}

// Put appends a request. It never waits.
func (q *Queue) Put(r Request) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.waiting = append(q.waiting, r)
	q.bytes += r.Size()
	q.bound()
	select {
	case q.added <- true:
	default:
	}
}

// bound drops the oldest of too many.
func (q *Queue) bound() {
	for len(q.waiting) > mostWaiting || q.bytes > mostBytes && len(q.waiting) > 1 {
		q.bytes -= q.waiting[0].Size()
		q.waiting[0] = Request{}
		q.waiting = q.waiting[1:]
		q.Dropped++
	}
}

// take is the oldest, which is then out of the queue.
func (q *Queue) take() (r Request, ok bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if len(q.waiting) == 0 {
		return r, false
	}
	r = q.waiting[0]
	q.waiting[0] = Request{}
	q.waiting = q.waiting[1:]
	q.bytes -= r.Size()
	return r, true
}

// back puts a request that was taken first again.
func (q *Queue) back(r Request) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.waiting = append([]Request{r}, q.waiting...)
	q.bytes += r.Size()
	q.bound()
}

// Run sends requests until ctx ends.
func (q *Queue) Run(ctx context.Context) {
	for {
		q.send(ctx)
		select {
		case <-ctx.Done():
			return
		case <-q.added:
		}
	}
}

// Flush sends what is left until ctx ends, and tells what became of all.
func (q *Queue) Flush(ctx context.Context) Tally {
	q.send(ctx)
	q.lock.Lock()
	defer q.lock.Unlock()
	q.Left = len(q.waiting)
	return q.Tally
}

// send sends what waits, and tries again where the server is away, until nothing waits or ctx ends.
func (q *Queue) send(ctx context.Context) {
	const first, most = 500 * time.Millisecond, 30 * time.Second
	away := time.Duration(0) // how long until the next try
	for ctx.Err() == nil {
		r, ok := q.take()
		if !ok {
			return
		}
		err := q.Server.Send(ctx, r)
		var refused *RefusedError
		switch {
		case err == nil:
			q.count(func(t *Tally) { t.Sent++ })
			if away > 0 {
				q.Note(fmt.Sprintf("%s answers again", q.Server))
			}
			away = 0
		case errors.As(err, &refused):
			q.count(func(t *Tally) { t.Refused++ })
			q.Note(fmt.Sprintf("%s refuses a profile: %v", q.Server, err))
		default:
			q.back(r)
			if away == 0 && ctx.Err() == nil {
				q.Note(fmt.Sprintf("%s: %v; profiles wait, up to %d of them", q.Server, err, mostWaiting))
			}
			away = min(most, max(first, 2*away))
			// Servers that come back are not met by all at once.
			_ = q.Sleep(ctx, away/2+rand.N(away/2+1))
		}
	}
}

func (q *Queue) count(change func(*Tally)) {
	q.lock.Lock()
	defer q.lock.Unlock()
	change(&q.Tally)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
