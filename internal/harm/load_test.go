package harm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A load is clients that ask nginx again and again, each over a connection of its own that is kept.
type load struct {
	count  atomic.Int64
	path   atomic.Value // that is asked for: what the worker does beside its work, see testdata/app.lua
	cancel context.CancelFunc
	wait   sync.WaitGroup

	lock    sync.Mutex
	ended   map[int]ending // workers that the test itself ends
	now     ending         // of those that it is about to end; 0: none
	changes int            // how often that was set
	last    ending         // what it was set to last
	lost    []error
	unread  int // requests that no worker has read, and that were sent again
}

// An ending is how the test ends a worker, which says what may become of its requests.
type ending int

const (
	leaves ending = iota + 1 // it answers what it has read, and closes connections with requests that it has not
	dies                     // it answers nothing any more
)

const clients = 6

func startLoad(socket string) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel, ended: map[int]ending{}}
	l.path.Store("/")
	for range clients {
		l.wait.Go(func() {
			for ctx.Err() == nil {
				if err := l.connection(ctx, socket); err != nil && ctx.Err() == nil {
					l.lose(err)
				}
			}
		})
	}
	return l
}

func (l *load) stop() {
	l.cancel()
	l.wait.Wait()
}

func (l *load) answered() int64 { return l.count.Load() }

// connection asks over one connection, which stays with its worker: its process ID stands in each answer. Then comes another
// connection, maybe to another worker.
func (l *load) connection(ctx context.Context, socket string) error {
	c, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	r := bufio.NewReader(c)
	worker := 0
	for n := range 200 {
		changes, now := l.upheaval()
		pid, last, err := l.request(c, r)
		if err != nil {
			if l.excused(worker, changes, now, errors.Is(err, errUnread)) {
				return nil
			}
			return fmt.Errorf("worker %d, request %d of its connection: %w", worker, n, err)
		}
		worker = pid
		l.count.Add(1)
		if last {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(3 * time.Millisecond):
		}
	}
	return nil
}

// errUnread is the error of a request that no worker has read.
var errUnread = errors.New("its connection was closed before anybody read it")

// request asks once. last: nginx closes the connection after the answer.
func (l *load) request(c net.Conn, r *bufio.Reader) (worker int, last bool, err error) {
	path := l.path.Load()
	c.SetDeadline(time.Now().Add(patience))
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: nginx\r\nContent-Length: 0\r\n\r\n", path)
	if err == nil {
		_, err = r.Peek(1)
	}
	// A unix socket says "reset" only where its other end was closed with bytes in it that nobody had read; where it was closed
	// and all had been read, it says "end".
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return 0, false, fmt.Errorf("%w: %w", errUnread, err)
	}
	if err != nil {
		return 0, false, fmt.Errorf("it was read and not answered: %w", err)
	}
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, false, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, false, err
	}
	if res.StatusCode != http.StatusOK || string(body) != "done\n" {
		return 0, false, errors.New(res.Status + ": " + string(body))
	}
	worker, err = strconv.Atoi(res.Header.Get("X-Worker"))
	return worker, res.Close, err
}

func (l *load) lose(err error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.lost = append(l.lost, err)
}

// ends says that the test is about to end workers, until calm is called.
func (l *load) ends(how ending, pids ...int) {
	l.lock.Lock()
	defer l.lock.Unlock()
	for _, pid := range pids {
		l.ended[pid] = how
	}
	l.now, l.last = how, how
	l.changes++
}

// calm says that all those have ended.
func (l *load) calm() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.now = 0
}

// upheaval reports whether workers are ended now, and how often that has begun.
func (l *load) upheaval() (changes int, now ending) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.changes, l.now
}

// excused reports whether a request was lost because the test ended its worker. Worker 0: nobody knows which it was; it may be one
// that was being ended when the request began (changes, now: see upheaval) or since.
func (l *load) excused(worker, changes int, now ending, unread bool) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	how := l.ended[worker]
	if worker == 0 && (now != 0 || l.changes != changes) {
		how = l.last
	}
	if how == dies || how == leaves && unread {
		l.unread++
		return true
	}
	return false
}

// losses are the requests that were lost since it was last asked.
func (l *load) losses() []error {
	l.lock.Lock()
	defer l.lock.Unlock()
	lost := l.lost
	l.lost = nil
	return lost
}

func more(got, want int64) error {
	if got < want {
		return fmt.Errorf("%d answers, not %d", got, want)
	}
	return nil
}
