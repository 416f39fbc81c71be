package runtime

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// A ServerSpec is an nginx that runs with the user's own configuration.
type ServerSpec struct {
	Runtime record.Runtime // nginx
	Prefix  string         // folder
	Conf    string         // path
	CPUs    []int          // that it may run on; none: all that we may
	// LogTo is given what it says on stderr.
	LogTo io.Writer
}

// A Server is a running nginx. It is asked to end when we die, however that comes.
type Server struct {
	PID  int // of the master
	c    *child
	gone chan struct{}

	state  *os.ProcessState // to be read when gone is closed
	stderr *capture
	stop   sync.Once
}

// CheckServer asks nginx whether it accepts a configuration. The error is what it says.
func CheckServer(ctx context.Context, spec ServerSpec) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, spec.Runtime.Path, append(spec.args(), "-t")...)
	cmd.Env = environ("NGINX=")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("nginx refuses the configuration: %s", withoutNotices(string(out)))
	}
	return nil
}

// withoutNotices are the lines of nginx's log that say what is wrong.
func withoutNotices(log string) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(log), "\n"), func(line string) bool { return strings.Contains(line, "[notice]") })
	return strings.Join(lines, "\n")
}

func (s ServerSpec) args() []string {
	args := []string{"-p", s.Prefix + "/", "-c", s.Conf}
	if hasErrorLogFlag(s.Runtime.Version) {
		args = append(args, "-e", "stderr")
	}
	return args
}

// StartServer starts nginx in the foreground; its configuration says daemon off.
func StartServer(spec ServerSpec) (*Server, error) {
	c, err := startChild(childSpec{
		path: spec.Runtime.Path, name: "nginx", args: spec.args(), env: environ("NGINX="),
		stdout:         io.Discard,
		parentDeath:    syscall.SIGTERM, // its master tells the workers
		outliveOutputs: grace,
		cpus:           spec.CPUs,
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Runtime.Path, err)
	}
	s := &Server{PID: c.cmd.Process.Pid, c: c, gone: make(chan struct{}), stderr: &capture{}}
	var outputs sync.WaitGroup
	outputs.Go(func() {
		var to io.Writer = s.stderr
		if spec.LogTo != nil {
			to = io.MultiWriter(s.stderr, spec.LogTo)
		}
		io.Copy(to, c.stderr)
	})
	go func() {
		s.state = <-c.exited
		c.hurry(200 * time.Millisecond)
		outputs.Wait()
		c.closePipes()
		close(s.gone)
	}()
	return s, nil
}

// Gone is why the server has ended; nil: it runs.
func (s *Server) Gone() error {
	select {
	case <-s.gone:
	default:
		return nil
	}
	why := s.state.String()
	if out := s.stderr.output(); out != nil {
		why += ": " + strings.TrimSpace(out.Head)
	}
	return fmt.Errorf("nginx ended, %s", why)
}

// Stop ends the server and waits until it is gone.
func (s *Server) Stop() {
	s.stop.Do(func() {
		s.c.term(false)
		for _, then := range []func(){s.c.killChildren, s.c.kill} {
			select {
			case <-s.gone:
				return
			case <-time.After(4 * grace):
				then()
			}
		}
		<-s.gone
	})
}
