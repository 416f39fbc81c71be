package runtime

import (
	"context"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// A supervisor reads a started child to its end, ends it where it doesn't end by
// itself, and works out what became of it.
type supervisor struct {
	p      *Process
	c      *child
	nginx  bool
	log    *nginxLog // nil for LuaJIT
	stdout *capture
	stderr *capture

	heard   chan record.Line // what the channels say
	closed  chan struct{}    // no channel can say any more
	deaths  chan workerDeath // from nginx's log
	answers chan answer      // to the requests that start the job

	finished int          // workers that wrote their last line
	faulted  bool         // a line said why there is no finish
	last     record.Line  // that was heard
	lastAt   time.Time    //
	pids     map[int]int  // PID → worker
	death    *workerDeath // the first worker to die
	ended    *os.ProcessState
	stopping bool // we asked it to end
	timedOut bool
	silenced bool // it closed its channel while it lived
	answered int  // requests that were over after the job
	refused  int  // HTTP status of a request that came to nothing
}

// linger is how long a process that has said its last line, or closed its channel,
// may take to end by itself.
const linger = time.Second

// supervise returns at once; the lines come on p.lines.
func (s *supervisor) supervise(ctx context.Context, done func()) {
	s.heard = make(chan record.Line)
	s.deaths = make(chan workerDeath)
	s.closed = make(chan struct{})
	s.pids = map[int]int{}
	outputs := s.read()
	go func() {
		s.follow(ctx)
		outputs.Wait()
		done()
		s.c.closePipes()
		if fault := s.fault(ctx); fault != nil {
			s.p.lines <- *fault
		}
		exit := s.exit()
		s.p.removeFolder()
		s.p.lines <- exit
		close(s.p.lines)
	}()
}

// read starts to read all pipes. The group it returns ends with stdout and stderr.
func (s *supervisor) read() *sync.WaitGroup {
	var channels, outputs sync.WaitGroup
	for worker, r := range s.c.channels {
		in := record.In{Process: s.p.spec.Job.Process, Worker: worker}
		channels.Go(func() {
			readChannel(untilDrained(r), in, func(l record.Line) { s.heard <- l })
		})
	}
	go func() {
		channels.Wait()
		close(s.closed)
	}()
	if s.c.stdout != nil {
		s.stdout = &capture{}
		outputs.Go(func() { io.Copy(s.stdout, s.c.stdout) })
	}
	var stderr io.Writer = s.p.spec.Stderr
	if stderr == nil {
		s.stderr = &capture{}
		stderr = s.stderr
	}
	outputs.Go(func() {
		defer close(s.deaths)
		if s.log == nil {
			io.Copy(stderr, s.c.stderr)
			return
		}
		s.log.out = stderr
		s.log.died = func(d workerDeath) { s.deaths <- d }
		io.Copy(s.log, s.c.stderr)
		s.log.flush()
	})
	return &outputs
}

// follow hands on lines until the process is gone and all it said is read.
func (s *supervisor) follow(ctx context.Context) {
	cancelled := ctx.Done()
	var timeout, soon <-chan time.Time
	if s.p.spec.Timeout > 0 {
		timeout = time.After(time.Until(s.p.started.Add(s.p.spec.Timeout)))
	}
	e := ending{s: s, mastersTurn: s.nginx}
	closed, deaths := s.closed, s.deaths
	for closed != nil || s.ended == nil {
		select {
		case l := <-s.heard:
			s.hear(l)
			switch {
			case s.finished >= s.p.spec.Job.Workers && s.nginx:
				e.stop() // a worker never ends by itself
			case s.finished >= s.p.spec.Job.Workers || s.faulted:
				soon = time.After(linger)
			}
		case d, ok := <-deaths:
			if !ok {
				deaths = nil
				continue
			}
			if s.died(d) {
				e.stop()
			}
		case a := <-s.answers:
			if s.answer(a) && soon == nil {
				soon = time.After(linger)
			}
		case <-closed:
			closed = nil
			if s.ended == nil && soon == nil {
				s.silenced = true
				soon = time.After(linger)
			}
		case <-soon:
			e.stop()
		case <-timeout:
			if !s.stopping && s.ended == nil {
				s.timedOut = true
				e.stop()
				e.end()
			}
		case <-cancelled:
			cancelled = nil
			e.stop()
		case <-e.kill:
			e.end()
		case s.ended = <-s.c.exited:
			s.c.hurry(200 * time.Millisecond)
		}
	}
	// The log may still tell of a death.
	for d := range s.deaths {
		s.died(d)
	}
}

// died takes note of the first worker to die by itself, and reports whether this is it.
func (s *supervisor) died(d workerDeath) bool {
	if s.death != nil || s.stopping {
		return false
	}
	s.death = &d
	return true
}

// answer takes note of one, and reports whether no other will say more.
func (s *supervisor) answer(a answer) (last bool) {
	if a.over {
		s.answered++
	}
	if a.status >= 300 {
		s.refused = a.status
	}
	return s.answered == s.p.spec.Job.Workers || s.refused > 0 && !a.over
}

// An ending is how a process is brought to its end: it is asked first, then killed.
type ending struct {
	s           *supervisor
	mastersTurn bool             // nginx's master is still to end by itself
	kill        <-chan time.Time // when asking was no use
}

func (e *ending) stop() {
	if s := e.s; !s.stopping && s.ended == nil {
		s.stopping = true
		s.c.term(!s.nginx) // nginx's master tells its workers itself
		e.kill = time.After(grace)
	}
}

func (e *ending) end() {
	switch {
	case e.s.ended != nil:
	case e.mastersTurn:
		// Its workers do not listen. Without them it ends by itself, and takes the
		// sockets with it that the user's directives made outside our folder.
		e.mastersTurn = false
		e.s.c.killChildren()
		e.kill = time.After(4 * grace)
	default:
		e.s.c.kill()
	}
}

func (s *supervisor) hear(l record.Line) {
	s.last, s.lastAt = l, time.Now()
	switch l := l.(type) {
	case record.Process:
		s.pids[l.PID] = l.Worker
	case record.Finish:
		s.finished++
	case record.Fault:
		if l.Kind != record.FaultChannel {
			s.faulted = true
		}
	}
	s.p.lines <- l
}

// exit is the process's last line.
func (s *supervisor) exit() record.Exit {
	e := record.Exit{
		Process:   s.p.spec.Job.Process,
		Status:    s.ended.ExitCode(),
		ElapsedNS: float64(time.Since(s.p.started)),
		CPUNS:     float64(s.ended.UserTime() + s.ended.SystemTime()),
		Stdout:    s.stdout.output(),
		Stderr:    s.stderr.output(),
	}
	if status, ok := s.ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = shortSignal(status.Signal())
	}
	if usage, ok := s.ended.SysUsage().(*syscall.Rusage); ok {
		e.MaxRSS = usage.Maxrss * 1024
	}
	if s.death != nil { // of nginx, the worker's end is what matters
		e.Status, e.Signal = s.death.status, ""
		if s.death.signal != 0 {
			e.Status, e.Signal = -1, shortSignal(s.death.signal)
		}
	}
	return e
}
