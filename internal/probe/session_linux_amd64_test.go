package probe_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/probe/probetest"
)

// What this program does instead of its tests, when a test starts it so.
const (
	role      = "MOONLAP_PROBE_TEST"
	spinning  = "spin"    // computes, in its main thread, and after a line on stdin in others, too
	sleeping  = "sleep"   // naps in its main thread, again and again
	blinking  = "blink"   // likewise, for as short as can be
	profiling = "profile" // samples the process whose ID follows, until it is killed
)

func init() { runtime.LockOSThread() } // the main goroutine stays in the main thread

func TestMain(m *testing.M) {
	task, pid, _ := strings.Cut(os.Getenv(role), " ")
	switch task {
	case spinning:
		spin()
	case sleeping, blinking:
		fmt.Println("ready")
		length := nap
		if task == blinking {
			length = 1
		}
		for {
			unix.Nanosleep(&unix.Timespec{Nsec: length.Nanoseconds()}, nil)
		}
	case profiling:
		n, _ := strconv.Atoi(pid)
		session, err := probe.Open()
		if err == nil {
			var s *probe.Source
			if s, err = session.Attach(target(n), 100); err == nil {
				err = s.Sleeps(time.Millisecond, probe.Running)
			}
		}
		var programs []*ebpf.Program
		var probes *probe.Uprobes
		if err == nil {
			programs, probes, err = probeLibrary(n)
		}
		fmt.Println("attached", err)
		for { // and keeps them
			time.Sleep(time.Hour)
			runtime.KeepAlive(programs)
			runtime.KeepAlive(probes)
		}
	}
	os.Exit(m.Run())
}

const nap = 5 * time.Millisecond

func spin() {
	fmt.Println("ready")
	go func() {
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
			os.Exit(0) // the test has ended
		}
		for range 2 {
			go func() {
				runtime.LockOSThread()
				for {
				}
			}()
		}
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
	}
}

// target is a process without Lua: there is no machine at address 0.
func target(pid int) probe.Target { return probe.Target{PID: pid, VM: &luajit.VM{}} }

// child starts this program in a role, until the test ends, and waits for its first line.
func child(t *testing.T, task string) (*exec.Cmd, io.Writer) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), role+"="+task, "GOMAXPROCS=8")
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" && line != "attached <nil>\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return command, in
}

func open(t *testing.T) *probe.Session {
	t.Helper()
	probetest.Need(t)
	session, err := probe.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// await reads snapshots until one is wanted.
func await(t *testing.T, s *probe.Source, what string, wanted func(*probe.Snapshot) bool) {
	t.Helper()
	late := time.After(30 * time.Second)
	for n := 0; ; n++ {
		select {
		case m, ok := <-s.Snapshots():
			if !ok {
				t.Fatalf("%s: the channel is closed after %d snapshots", what, n)
			}
			if wanted(m) {
				return
			}
		case <-late:
			t.Fatalf("%s: none among %d snapshots in 30 s", what, n)
		}
	}
}

// nowhere is memory that cannot be read.
type nowhere struct{}

func (nowhere) ReadAt([]byte, uint64) error { return os.ErrInvalid }

// TestSession samples a process that computes: from two sessions at once, in threads that it starts
// meanwhile, and until its end.
func TestSession(t *testing.T) {
	session, other := open(t), open(t)
	busy, in := child(t, spinning)
	pid := busy.Process.Pid
	const hz = 500
	s, err := session.Attach(target(pid), hz)
	if err != nil {
		t.Fatal(err)
	}
	second, err := other.Attach(target(pid), hz)
	if err != nil {
		t.Fatal(err)
	}
	var last time.Duration
	for range 3 {
		await(t, s, "of the main thread", func(m *probe.Snapshot) bool {
			if !m.Main {
				return false // one of Go's own
			}
			if m.Kind != probe.OnCPU || m.Time <= last {
				t.Errorf("%+v after %v", m, last)
			}
			last = m.Time
			var word [8]byte
			return m.Registers.RIP != 0 && m.Over(nowhere{}).ReadAt(word[:], m.Registers.RSP) == nil
		})
	}
	await(t, second, "of the other session", func(m *probe.Snapshot) bool { return m.Main })
	fmt.Fprintln(in)
	more := time.NewTicker(50 * time.Millisecond)
	defer more.Stop()
	await(t, s, "of a thread that was started later", func(m *probe.Snapshot) bool {
		select {
		case <-more.C:
			if err := s.Threads(); err != nil {
				t.Error(err)
			}
		default:
		}
		return !m.Main
	})
	s.Detach()
	for range s.Snapshots() { // is closed
	}
	if lost, err := second.Lost(); err != nil {
		t.Errorf("%d lost, %v", lost, err)
	}
	await(t, second, "after another has detached", func(m *probe.Snapshot) bool { return m.Time > last })
	busy.Process.Kill()
	busy.Wait()
	if err := second.Threads(); err == nil {
		t.Error("a process that has ended still has threads")
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	for range second.Snapshots() { // is closed with its session
	}
	if _, err := session.Attach(target(pid), hz); err == nil {
		t.Error("a process that has ended was attached to")
	}
}

// TestLost: what nobody reads is counted, and the rest stays as it was.
func TestLost(t *testing.T) {
	session := open(t)
	busy, _ := child(t, spinning)
	const hz = 20_000
	s, err := session.Attach(target(busy.Process.Pid), hz)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		lost, err := s.Lost()
		if err != nil {
			t.Fatal(err)
		}
		if lost > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("nothing is lost in 30 s")
		}
	}
	await(t, s, "kept", func(m *probe.Snapshot) bool { return m.Main })
}

func TestCheck(t *testing.T) {
	open(t)
	for _, c := range probe.Check() {
		if c.Name != probe.NameKernel && c.Err != nil {
			t.Errorf("%s: %v, though it was done", c.Name, c.Err)
		}
	}
}
