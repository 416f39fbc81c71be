package runtime

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// A socket is where nginx takes the requests that start the job.
type socket struct {
	path   string
	folder *os.File // held open while path leads through it
}

// maxSocketPath is the room for a path in sockaddr_un, less the final zero.
const maxSocketPath = 107

// newSocket chooses the socket's path in folder. One that is too long for the kernel
// goes through our own open descriptor of the folder.
func newSocket(folder string) (*socket, error) {
	s := &socket{path: filepath.Join(folder, "s")}
	if len(s.path) <= maxSocketPath {
		return s, nil
	}
	dir, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	s.folder = dir
	s.path = fmt.Sprintf("/proc/%d/fd/%d/s", os.Getpid(), dir.Fd())
	return s, nil
}

func (s *socket) close() {
	if s.folder != nil {
		s.folder.Close()
	}
}

// An answer is what came of a request that starts the job.
type answer struct {
	status int  // 0: none, as the worker died or the process ends
	over   bool // the job ran while the request did, and has ended
}

// startJob gives the job to one worker that does not have it yet. It returns when the
// request is over: at once where the job outlives it, after the job in other phases.
func (s *socket) startJob(ctx context.Context, phase string) answer {
	for n := 0; ; n++ {
		status, err := s.request(ctx)
		switch {
		case ctx.Err() != nil:
			return answer{}
		case err == nil && status != http.StatusConflict:
			return answer{status: status, over: phase != PhaseTimer && phase != "log"}
		case err != nil && !isDialError(err):
			return answer{} // the worker died; the master's log will tell
		}
		// There is no socket yet, or that worker has begun already.
		select {
		case <-ctx.Done():
			return answer{}
		case <-time.After(retry(n)):
		}
	}
}

// askAgain sends a few more requests for the job. A worker may have accepted two of the
// first before it began the job with one; where the phase lets nothing yield, the other
// waits in that worker until the job is over, and the worker it was meant for must hear
// of the job from someone else. A worker that has begun answers "conflict", which is fine.
func (s *socket) askAgain(ctx context.Context) {
	for range 10 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
			go s.request(ctx)
		}
	}
}

// request sends one request on a connection of its own, so that any worker can have it.
func (s *socket) request(ctx context.Context) (status int, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", s.path)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := fmt.Fprintf(conn, "GET /job HTTP/1.0\r\nHost: moonlap\r\n\r\n"); err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	answer.Body.Close()
	return answer.StatusCode, nil
}

func isDialError(err error) bool {
	op, ok := err.(*net.OpError)
	return ok && op.Op == "dial"
}
