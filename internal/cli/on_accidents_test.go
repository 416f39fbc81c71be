package cli

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/moonlap/moonlap/internal/runtime/runtimetest"
)

// ledgerVariable names a folder in which each moonlap that runs on a host writes, once more, what it has written to stdout.
const ledgerVariable = "MOONLAP_TEST_LEDGER"

// withLedger has a moonlap that writes its record to stdout write it into the ledger, too.
func withLedger(sys Sys, args []string) Sys {
	folder := os.Getenv(ledgerVariable)
	if folder == "" || !strings.Contains(strings.Join(args, " "), "--out -") {
		return sys
	}
	f, err := os.Create(filepath.Join(folder, strconv.Itoa(os.Getpid())))
	if err == nil {
		sys.Stdout = io.MultiWriter(sys.Stdout, f)
	}
	return sys
}

// A wire is a way to the ssh server that can be cut, or swallow all that is sent.
type wire struct {
	net.Listener
	to    string
	mu    sync.Mutex
	conns []net.Conn
	dead  chan struct{} // closed: nothing passes any more
}

func newWire(ts *testscript.TestScript, to string) *wire {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	w := &wire{Listener: listener, to: to, dead: make(chan struct{})}
	ts.Defer(w.cut)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				conn.Close()
				continue
			}
			w.mu.Lock()
			w.conns = append(w.conns, conn, server)
			w.mu.Unlock()
			go w.pass(conn, server)
			go w.pass(server, conn)
		}
	}()
	return w
}

func (w *wire) pass(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-w.dead:
			return // both ends stay open, and hear nothing
		default:
		}
		if _, bad := to.Write(buffer[:n]); bad != nil || err != nil {
			to.Close()
			return
		}
	}
}

// cut ends all connections.
func (w *wire) cut() {
	w.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.Close()
	}
}

// An accident is what befalls a run on hosts. Those of the wire lose what is on it.
type accident struct {
	name   string
	onWire bool
	do     func(here *os.Process, w *wire, mark string)
}

// hostProcesses are the processes on hosts whose command line holds a word.
func hostProcesses(mark, word string) (pids []int) {
	for _, found := range runtimetest.Marked(mark) {
		pid, line, _ := strings.Cut(found, " ")
		if n, err := strconv.Atoi(pid); err == nil && strings.Contains(line, word) {
			pids = append(pids, n)
		}
	}
	return pids
}

func signalOne(word string, signal syscall.Signal) func(*os.Process, *wire, string) {
	return func(_ *os.Process, _ *wire, mark string) {
		if pids := hostProcesses(mark, word); len(pids) > 0 {
			syscall.Kill(pids[rand.IntN(len(pids))], signal)
		}
	}
}

var accidents = []accident{
	{"the connection is cut", true, func(_ *os.Process, w *wire, _ string) { w.cut() }},
	{"the connection is silent", true, func(_ *os.Process, w *wire, _ string) { close(w.dead) }},
	{"moonlap's host side is killed", false, signalOne("serve-host", syscall.SIGKILL)},
	{"moonlap's host side is asked to end", false, signalOne("serve-host", syscall.SIGTERM)},
	{"the measuring moonlap is killed", false, signalOne("--out - --", syscall.SIGKILL)},
	{"moonlap here is killed", true, func(here *os.Process, _ *wire, _ string) { here.Kill() }},
	{"moonlap here is interrupted", false, func(here *os.Process, _ *wire, _ string) { here.Signal(os.Interrupt) }},
}

// haveAccidents is the script command `accidents COMMAND…`: it runs the command, which writes records to kept/N.HOST.jsonl, on two
// hosts, web1 and web2, again and again; each time something befalls it at random. It needs sshd and MOONLAP_TEST_LEDGER.
// What was written on a host arrives whole, or up to where the wire was cut; nothing is left running. It is done as often as
// MOONLAP_ACCIDENTS says, or three times.
func haveAccidents(ts *testscript.TestScript, neg bool, command []string) {
	if neg || len(command) == 0 {
		ts.Fatalf("usage: accidents COMMAND…")
	}
	times, first := 3, rand.IntN(len(accidents))
	if n, err := strconv.Atoi(os.Getenv("MOONLAP_ACCIDENTS")); err == nil {
		times = n
	}
	took, states := map[string]int{}, map[string]int{}
	for i := range times {
		what := accidents[(first+i)%len(accidents)]
		took[what.name]++
		haveAccident(ts, i, what, command, states)
	}
	for name, n := range took {
		ts.Logf("%3d times: %s", n, name)
	}
	for state, n := range states {
		ts.Logf("%3d records: %s", n, state)
	}
}

func haveAccident(ts *testscript.TestScript, number int, what accident, command []string, states map[string]int) {
	ledger := ts.MkAbs(fmt.Sprintf("ledger%d", number))
	ts.Check(os.Mkdir(ledger, 0o755))
	wires := map[string]*wire{}
	config := ""
	for _, name := range []string{"web1", "web2"} {
		w := newWire(ts, net.JoinHostPort("127.0.0.1", ts.Getenv("SSHPORT")))
		wires[name] = w
		_, port, _ := net.SplitHostPort(w.Addr().String())
		config += fmt.Sprintf("Host %s\n HostName 127.0.0.1\n Port %s\n", name, port)
	}
	common, err := os.ReadFile(ts.MkAbs(".ssh/common"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(".ssh/config"), append([]byte(config), common...), 0o600))

	out := fmt.Sprintf("kept/%d.jsonl", number)
	cmd := scriptCommand(ts, append(append([]string{command[0]}, command[1:]...), "--out", out, "once.lua"))
	cmd.Env = append(cmd.Env, ledgerVariable+"="+ledger, "MOONLAP_ON_SILENCE=3s")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	name := []string{"web1", "web2"}[rand.IntN(2)]
	victim := wires[name]
	when := time.Duration(rand.Float64() * float64(3*time.Second))
	if number%4 > 0 { // else it may befall the start
		await(ts.MkAbs(fmt.Sprintf("kept/%d.%s.jsonl", number, name)), ended)
	}
	select {
	case err = <-ended:
		ended <- err
	case <-time.After(when):
		what.do(cmd.Process, victim, ts.Getenv("WORK"))
	}
	fail := func(format string, args ...any) {
		ts.Fatalf("accident %d, %s after %v: %s\n%s", number, what.name, when, fmt.Sprintf(format, args...), &said)
	}
	select {
	case <-ended:
	case <-time.After(3 * time.Minute):
		cmd.Process.Kill()
		fail("moonlap does not end")
	}
	left := ""
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		if left = runtimetest.Left(ts.Getenv("TMPDIR"), ts.Getenv("WORK")); left == "" {
			break
		}
	}
	if left != "" {
		fail("%s", left)
	}
	switch code := cmd.ProcessState.ExitCode(); code {
	case ExitOK, ExitError, ExitPartial, ExitInterrupted, -1:
	default:
		fail("exit status %d", code)
	}
	begun := 0
	for name, w := range wires {
		mayLose := what.onWire && (w == victim || strings.Contains(what.name, "here"))
		state, ok := arrived(ledger, ts.MkAbs(fmt.Sprintf("kept/%d.%s.jsonl", number, name)), mayLose)
		if !ok {
			fail("%s: %s", name, state)
		}
		states[state]++
		if state != notBegun {
			begun++
		}
		w.cut()
	}
	if runs, _ := filepath.Glob(filepath.Join(ledger, "*")); len(runs) > begun && !what.onWire {
		fail("%d hosts have written a record, and %d have arrived", len(runs), begun)
	}
}

// await waits until there is something in a file, or the run has ended.
func await(path string, ended chan error) {
	for {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return
		}
		select {
		case err := <-ended:
			ended <- err
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// notBegun is the state of a record that a host was not asked for before the accident.
const notBegun = "nothing, the run there had not begun"

// arrived compares a record with what was written on its host, and says what it is like, or what is wrong.
func arrived(ledger, path string, mayLose bool) (state string, ok bool) {
	record, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err.Error(), false
	}
	if len(record) == 0 {
		return notBegun, true
	}
	all, _ := filepath.Glob(filepath.Join(ledger, "*"))
	for _, file := range all {
		written, _ := os.ReadFile(file)
		shorter := min(len(written), len(record))
		switch {
		case !bytes.Equal(written[:shorter], record[:shorter]):
		case len(record) < len(written) && !mayLose:
			return fmt.Sprintf("%d bytes of %d have arrived", len(record), len(written)), false
		case bytes.Contains(record, []byte(`{"type":"end"`)):
			return "whole, with its end", true
		case len(record) >= len(written):
			return "all that was written until the run ended", true
		default:
			return "up to where the wire was lost", true
		}
	}
	return "its record is none that was written on a host", false
}

// scriptCommand is a command with the environment of a script.
func scriptCommand(ts *testscript.TestScript, args []string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"PATH", "TMPDIR", "XDG_CACHE_HOME", runtimetest.Mark, "HOME", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "SLURM_CONF"} {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	if path, err := exec.LookPath(args[0]); err == nil {
		cmd.Path = path
	}
	return cmd
}
