package fleet

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/internal/runtime"
)

// A Job is what all hosts run.
type Job struct {
	Program string               // path of a static moonlap
	Args    func(i int) []string // of the host of that number; its record goes to its stdout
	Load    Load
	Meeting *Meeting      // nil: the runs have nothing to do with each other
	Silence time.Duration // after which a side takes the other one for gone; 0: [Silence]
}

// A Meeting has runs do something together. Each gets a line on its stdin when Start is closed, and its end when Enough is.
type Meeting struct {
	Start, Enough <-chan struct{}
}

// An Outcome is what became of the run on a host.
type Outcome struct {
	Host  Host
	Code  int           // exit status of the run there; 0 where Err says that there was none
	Err   error         // it did not run, or was lost
	Ready time.Duration // until the host could begin
	Node  string        // what it calls itself; "" where it was never ready
}

// Name is what a report calls the host: a node of a queue has a number, and a name once it has come.
func (o Outcome) Name() string {
	if o.Host.Why == nil || o.Node == "" {
		return o.Host.Name
	}
	return o.Host.Name + " (" + o.Node + ")"
}

// A Watcher hears of a run while it goes on. Its methods are called by several goroutines.
type Watcher interface {
	// Record takes a piece of a host's record.
	Record(host Host, piece []byte) error
	// Note takes a line that a host wrote on its stderr.
	Note(host Host, line string)
	// Ended is the last that is heard of a host.
	Ended(outcome Outcome)
}

// Run runs the job on all hosts at once. They begin together when each is ready or has failed. When ctx ends, the hosts
// are called off: they write what they have, and it is kept. Run returns when nothing of it runs here any more.
func Run(ctx context.Context, hosts []Host, job Job, to Watcher) ([]Outcome, error) {
	program, unpacked, err := packed(job.Program)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	if err := job.Load.Pack(&files); err != nil {
		return nil, err
	}
	if job.Silence <= 0 {
		job.Silence = Silence
	}
	outcomes := make([]Outcome, len(hosts))
	begins := make(chan struct{})
	var all, waiting sync.WaitGroup
	waiting.Add(len(hosts))
	go func() { waiting.Wait(); close(begins) }()
	for i, h := range hosts {
		all.Go(func() {
			order, err := json.Marshal(order{Args: job.Args(i), Dir: job.Load.Dir, Archive: int64(files.Len()), Meets: job.Meeting != nil, Silence: job.Silence, EndsJob: h.Why != nil && os.Getenv("SLURM_JOB_ID") == ""})
			c := &connection{host: h, to: to, begins: begins, silence: job.Silence, room: unpacked + 3*int64(files.Len()) + spare}
			if job.Meeting != nil {
				c.meeting = *job.Meeting
			}
			c.atReady = sync.OnceFunc(waiting.Done)
			defer c.atReady()
			if err == nil {
				err = c.run(ctx, len(program), io.MultiReader(bytes.NewReader(program), bytes.NewReader(append(order, '\n')), bytes.NewReader(files.Bytes())))
			}
			outcomes[i] = Outcome{Host: h, Code: c.code, Err: err, Ready: c.took, Node: c.node}
			to.Ended(outcomes[i])
		})
	}
	all.Wait()
	return outcomes, nil
}

// spare is how much room a host has, in bytes, beside the program and the files, which are three times their archive.
const spare = 8 << 20

// packed is a program compressed, and how long it is without that.
func packed(program string) (text []byte, size int64, err error) {
	f, err := os.Open(program)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	var b bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	size, err = io.Copy(zip, f)
	err = errors.Join(err, zip.Close())
	return b.Bytes(), size, err
}

// A connection is a run on one host, seen from here.
type connection struct {
	host    Host
	to      Watcher
	begins  <-chan struct{} // when all hosts are ready
	meeting Meeting
	atReady func()
	silence time.Duration
	room    int64         // bytes that the run takes there
	heard   chan struct{} // that the host is there

	took time.Duration
	code int
	why  string // it was not ready in time
	node string
}

func (c *connection) run(ctx context.Context, size int, sent io.Reader) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	command := c.host.Shell(script(size, c.room, c.silence))
	cmd := exec.Command(command[0], command[1:]...)
	in, out, said, err := pipes(cmd)
	if err != nil {
		return err
	}
	cmd.Env = runtime.GuardedEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for moonlap, which calls the hosts off itself
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s cannot be started: %w", command[0], err)
	}
	if release, err := runtime.Guard(cmd.Process.Pid); err == nil { // the host notices, should we be killed
		defer release()
	}
	kill := killer(cmd, in)
	defer kill()
	var notes sync.WaitGroup
	c.heard = make(chan struct{}, 1)
	notes.Go(func() { c.listen(said) })
	done := make(chan struct{})
	var talk sync.WaitGroup
	talk.Go(func() { c.talk(ctx, in, sent, done, kill) })
	stopAwaiting := context.AfterFunc(ctx, kill) // nothing is to be kept yet
	late := time.AfterFunc(c.host.Patience, func() {
		if c.host.Why != nil {
			c.why = c.host.Why()
		}
		kill()
	})
	record := bufio.NewReader(out)
	answered, err := c.await(record, func() { c.took = time.Since(started); stopAwaiting() }, late)
	if answered && err == nil {
		err = c.stream(record, kill)
	}
	close(done)
	if err != nil {
		kill()
	}
	notes.Wait()
	talk.Wait()
	ended := cmd.Wait()
	return c.outcome(ctx, cmd, answered, err, ended)
}

// killer ends the command that leads to a host. The host sees the end of its stdin, and has some time to clean up: an srun that is
// asked to end has Slurm kill all on the node at once.
func killer(cmd *exec.Cmd, in io.Closer) func() {
	return sync.OnceFunc(func() {
		in.Close()
		time.AfterFunc(toCleanUp, func() { cmd.Process.Signal(syscall.SIGTERM) })
		time.AfterFunc(toCleanUp+grace, func() { cmd.Process.Kill() })
	})
}

// pipes are those of all three streams of a command.
func pipes(cmd *exec.Cmd) (in io.WriteCloser, out, said io.ReadCloser, err error) {
	if in, err = cmd.StdinPipe(); err != nil {
		return nil, nil, nil, err
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		return nil, nil, nil, err
	}
	said, err = cmd.StderrPipe()
	return in, out, said, err
}

// await reads the host's answer that it is ready.
func (c *connection) await(record *bufio.Reader, answered func(), late *time.Timer) (bool, error) {
	line, err := record.ReadString('\n')
	if !late.Stop() {
		if c.why != "" { // written before it was killed
			return false, fmt.Errorf("not ready after %v: %s", c.host.Patience, c.why)
		}
		return false, fmt.Errorf("not ready after %v", c.host.Patience)
	}
	node, isReady := strings.CutPrefix(strings.TrimSuffix(line, "\n"), ready)
	if !isReady {
		if err == nil {
			return false, fmt.Errorf("it answers %q where moonlap should: a shell that prints at login?", strings.TrimSpace(line))
		}
		return false, nil
	}
	c.node = node
	answered()
	c.atReady()
	return true, nil
}

// stream hands the record on as it comes. When nothing is heard of the host for too long, it is killed here.
func (c *connection) stream(record *bufio.Reader, kill func()) error {
	var silent atomic.Bool
	late := time.AfterFunc(c.silence, func() { silent.Store(true); kill() })
	ended := make(chan struct{})
	defer close(ended)
	defer late.Stop()
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-c.heard:
				late.Reset(c.silence)
			}
		}
	}()
	piece := make([]byte, 64<<10)
	for {
		n, err := record.Read(piece)
		if n > 0 {
			if err := c.to.Record(c.host, piece[:n]); err != nil {
				return err
			}
		}
		if err != nil && silent.Load() {
			return fmt.Errorf("lost: nothing was heard of it for %v", c.silence)
		}
		if err != nil {
			return nil // how it ended, its exit status says
		}
	}
}

// talk sends the files, has the run begin, and says every beat that this side lives. When ctx ends it calls the run
// off, and gives it some time to send what it has.
func (c *connection) talk(ctx context.Context, in io.WriteCloser, sent io.Reader, done <-chan struct{}, kill func()) {
	defer in.Close()
	if _, err := io.Copy(in, sent); err != nil {
		return // the host is gone, which is seen where its answer is read
	}
	tick := time.NewTicker(beat(c.silence))
	defer tick.Stop()
	begins, off := c.begins, ctx.Done()
	var starts, ends <-chan struct{} // not before it has begun
	for {
		call := byte(alive)
		select {
		case <-done:
			return
		case <-begins:
			begins, call = nil, begin
			starts, ends = c.meeting.Start, c.meeting.Enough
		case <-starts:
			starts, call = nil, start
		case <-ends:
			starts, ends, call = nil, nil, enough
		case <-off:
			off, call = nil, interrupt
			defer time.AfterFunc(grace+beat(c.silence), kill).Stop()
		case <-tick.C:
		}
		if _, err := in.Write([]byte{call}); err != nil {
			return
		}
	}
}

func (c *connection) listen(said io.Reader) {
	for lines := bufio.NewReader(said); ; {
		line, err := lines.ReadString('\n')
		select {
		case c.heard <- struct{}{}:
		default:
		}
		if line = strings.TrimSpace(line); line != "" && line != pulse {
			c.to.Note(c.host, line)
		}
		if err != nil {
			return
		}
	}
}

// toCleanUp is how long a host may take to remove its folder.
const toCleanUp = 5 * time.Second

// told reports whether moonlap ended with this status. Others are those of ssh, of srun, or of a signal.
func told(status int) bool { return status >= 0 && status <= 4 || status == 130 }

// outcome says what became of the run, by how its connection ended.
func (c *connection) outcome(ctx context.Context, cmd *exec.Cmd, answered bool, err, ended error) error {
	var exit *exec.ExitError
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil && (!answered || ended != nil && !told(cmd.ProcessState.ExitCode())):
		return ctx.Err()
	case !answered:
		return errors.New("the run did not start there") // why, its stderr has said
	case ended == nil:
		return nil
	case errors.As(ended, &exit) && told(exit.ExitCode()):
		c.code = exit.ExitCode()
		return nil
	}
	return fmt.Errorf("lost: the connection ended before the run (%v)", cmd.ProcessState)
}
