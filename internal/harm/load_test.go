package harm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A load is clients that ask nginx again and again, each over a connection of its own that is kept.
type load struct {
	count  atomic.Int64
	forks  atomic.Bool // requests have their worker start a process
	cancel context.CancelFunc
	wait   sync.WaitGroup

	lock   sync.Mutex
	killed map[int]bool // workers that the test itself has ended: what was asked of them is not lost by moonlap
	lost   []error
}

const clients = 6

func startLoad(socket string) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel, killed: map[int]bool{}}
	for range clients {
		l.wait.Go(func() { l.ask(ctx, socket) })
	}
	return l
}

func (l *load) stop() {
	l.cancel()
	l.wait.Wait()
}

func (l *load) answered() int64 { return l.count.Load() }

// ask is one client. A connection stays with its worker, whose process ID stands in each answer.
func (l *load) ask(ctx context.Context, socket string) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	for ctx.Err() == nil {
		transport := &http.Transport{DialContext: dial, MaxConnsPerHost: 1}
		client := &http.Client{Transport: transport, Timeout: patience}
		worker := 0
		for n := 0; n < 200 && ctx.Err() == nil; n++ { // then over a new connection, maybe to another worker
			pid, err := l.request(ctx, client)
			if err != nil {
				if ctx.Err() == nil && !l.excused(worker) {
					l.lose(fmt.Errorf("worker %d, request %d of its connection: %w", worker, n, err))
				}
				break
			}
			worker = pid
			l.count.Add(1)
			select {
			case <-ctx.Done():
			case <-time.After(3 * time.Millisecond):
			}
		}
		transport.CloseIdleConnections()
	}
}

func (l *load) request(ctx context.Context, client *http.Client) (worker int, err error) {
	// A POST is not sent again by itself when a connection breaks.
	path := "http://nginx/"
	if l.forks.Load() {
		path += "fork"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, path, nil)
	if err != nil {
		return 0, err
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	if res.StatusCode != http.StatusOK || string(body) != "done\n" {
		return 0, errors.New(res.Status + ": " + string(body))
	}
	return strconv.Atoi(res.Header.Get("X-Worker"))
}

func (l *load) lose(err error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.lost = append(l.lost, err)
}

// kills says that the test is about to end workers. Also one that nginx ends in peace closes its idle connections, on which a
// request may be on its way.
func (l *load) kills(pids ...int) {
	l.lock.Lock()
	defer l.lock.Unlock()
	for _, pid := range pids {
		l.killed[pid] = true
	}
}

// excused tells whether a connection broke because the test killed its worker; 0: nobody knows which it was.
func (l *load) excused(worker int) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.killed[worker] || worker == 0 && len(l.killed) > 0
}

// losses are the requests that were lost since it was last asked.
func (l *load) losses() error {
	l.lock.Lock()
	defer l.lock.Unlock()
	lost := l.lost
	l.lost = nil
	return errors.Join(lost...)
}

func more(got, want int64) error {
	if got < want {
		return fmt.Errorf("%d answers, not %d", got, want)
	}
	return nil
}
