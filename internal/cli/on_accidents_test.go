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
	"slices"
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

// A struck run is one on hosts that something befalls.
type struck struct {
	here *os.Process
	mark string // of its processes on hosts
	wire *wire  // to one of the hosts; nil: by Slurm
	conf string // of Slurm
	node string // of it, that is one of the run's
}

// An accident is what befalls a run on hosts. Those that are lossy lose what is on its way.
type accident struct {
	name  string
	on    string // the engine that knows it; "": each
	lossy bool
	do    func(struck)
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

func signalOne(word string, signal syscall.Signal) func(struck) {
	return func(s struck) {
		if pids := hostProcesses(s.mark, word); len(pids) > 0 {
			syscall.Kill(pids[rand.IntN(len(pids))], signal)
		}
	}
}

// killStep kills the daemons of Slurm that lead to the node's tasks, as if the node had lost power for them.
func killStep(s struck) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(p, "environ"))
		if pid, err := strconv.Atoi(filepath.Base(p)); err == nil && bytes.Contains(line, []byte("slurmstepd")) && bytes.Contains(env, []byte("SLURM_CONF="+s.conf)) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// slurm runs a command of Slurm, and returns what it prints.
func (s struck) slurm(args ...string) string {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+s.conf)
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

var accidents = []accident{
	{"the connection is cut", "ssh", true, func(s struck) { s.wire.cut() }},
	{"the connection is silent", "ssh", true, func(s struck) { close(s.wire.dead) }},
	{"the job is preempted", "slurm", false, func(s struck) {
		s.slurm("sbatch", "--quiet", "--output=/dev/null", "-p", "urgent", "-w", s.node, "-N1", "--exclusive", "--wrap", "true")
	}},
	{"the jobs are cancelled", "slurm", false, func(s struck) { s.slurm("scancel", "--partition=main") }},
	{"the node is down", "slurm", true, func(s struck) {
		s.slurm("scontrol", "update", "NodeName="+s.node, "State=DOWN", "Reason=test")
		time.Sleep(time.Second)
		s.slurm("scontrol", "update", "NodeName="+s.node, "State=RESUME")
	}},
	{"Slurm's daemons of the tasks are killed", "slurm", true, killStep},
	{"moonlap's host side is killed", "", false, signalOne("/moonlap serve-host ", syscall.SIGKILL)},
	{"moonlap's host side is asked to end", "", false, signalOne("/moonlap serve-host ", syscall.SIGTERM)},
	{"the ssh here is asked to end", "ssh", true, signalOne("BatchMode=yes", syscall.SIGTERM)},
	{"the measuring moonlap is killed", "", false, signalOne("--out - --", syscall.SIGKILL)},
	{"moonlap here is killed", "", true, func(s struck) { s.here.Kill() }},
	{"moonlap here is interrupted", "", false, func(s struck) { s.here.Signal(os.Interrupt) }},
}

// haveAccidents is the script command `accidents ssh|slurm COMMAND…`: it runs the command, which writes records to kept/N.HOST.jsonl, on
// two hosts, web1 and web2 or node1 and node2, again and again; each time something befalls it at random. It needs sshd or slurm.
// What was written on a host arrives whole, or up to where the way to it was lost; nothing is left running. It is done as often as
// MOONLAP_ACCIDENTS says, or three times by ssh and once by Slurm.
func haveAccidents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: accidents ssh|slurm COMMAND…")
	}
	engine, command := args[0], args[1:]
	known := slices.DeleteFunc(slices.Clone(accidents), func(a accident) bool { return a.on != "" && a.on != engine })
	times, first := 3, rand.IntN(len(known))
	if engine == "slurm" {
		times = 1
	}
	if n, err := strconv.Atoi(os.Getenv("MOONLAP_ACCIDENTS")); err == nil {
		times = n
	}
	took, states := map[string]int{}, map[string]int{}
	for i := range times {
		what := known[(first+i)%len(known)]
		took[what.name]++
		haveAccident(ts, i, engine, what, command, states)
	}
	for name, n := range took {
		ts.Logf("%3d times: %s", n, name)
	}
	for state, n := range states {
		ts.Logf("%3d records: %s", n, state)
	}
}

// layWires makes the ways to the hosts by ssh.
func layWires(ts *testscript.TestScript, names []string) map[string]*wire {
	wires := map[string]*wire{}
	config := ""
	for _, name := range names {
		w := newWire(ts, net.JoinHostPort("127.0.0.1", ts.Getenv("SSHPORT")))
		wires[name] = w
		_, port, _ := net.SplitHostPort(w.Addr().String())
		config += fmt.Sprintf("Host %s\n HostName 127.0.0.1\n Port %s\n", name, port)
	}
	common, err := os.ReadFile(ts.MkAbs(".ssh/common"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(".ssh/config"), append([]byte(config), common...), 0o600))
	return wires
}

// busy waits until Slurm's nodes have nothing to do, and returns what they do after two minutes.
func (s struck) busy() string {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if s.slurm("squeue", "-h") == "" && s.slurm("sinfo", "-h", "-o", "%T %D") == "idle 2" {
			return ""
		}
	}
	return "the nodes do not become idle:\n" + s.slurm("squeue") + "\n" + s.slurm("sinfo")
}

func haveAccident(ts *testscript.TestScript, number int, engine string, what accident, command []string, states map[string]int) {
	ledger := ts.MkAbs(fmt.Sprintf("ledger%d", number))
	ts.Check(os.Mkdir(ledger, 0o755))
	names := []string{"web1", "web2"}
	run := struck{mark: ts.Getenv("WORK"), conf: ts.Getenv("SLURM_CONF"), node: []string{"n1", "n2"}[rand.IntN(2)]}
	var wires map[string]*wire
	if engine == "ssh" {
		wires = layWires(ts, names)
	} else {
		names = []string{"node1", "node2"}
	}
	out := fmt.Sprintf("kept/%d.jsonl", number)
	cmd := scriptCommand(ts, append(slices.Clone(command), "--out", out, "once.lua"))
	cmd.Env = append(cmd.Env, ledgerVariable+"="+ledger, "MOONLAP_ON_SILENCE=3s")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	ts.Check(cmd.Start())
	run.here = cmd.Process
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	name := names[rand.IntN(2)]
	run.wire = wires[name]
	when := time.Duration(rand.Float64() * float64(3*time.Second))
	if number%4 > 0 { // else it may befall the start
		await(ts.MkAbs(fmt.Sprintf("kept/%d.%s.jsonl", number, name)), ended)
	}
	select {
	case err := <-ended:
		ended <- err
	case <-time.After(when):
		what.do(run)
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
	if left == "" && engine == "slurm" {
		left = run.busy()
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
	for _, name := range names {
		path := ts.MkAbs(fmt.Sprintf("kept/%d.%s.jsonl", number, name))
		mayLose := what.lossy && (engine == "slurm" || wires[name] == run.wire || strings.Contains(what.name, "here"))
		state, ok := arrived(ledger, path, mayLose)
		if !ok {
			fail("%s: %s", name, state)
		}
		states[state]++
		if state != notBegun {
			begun++
		}
	}
	for _, w := range wires {
		w.cut()
	}
	if runs := begunIn(ledger); runs > begun && !what.lossy {
		fail("%d hosts have written a record, and %d have arrived", runs, begun)
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

// begunIn is how many records hosts have begun to write.
func begunIn(ledger string) (n int) {
	files, _ := filepath.Glob(filepath.Join(ledger, "*"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			n++
		}
	}
	return n
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
			return "up to where the way was lost", true
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
