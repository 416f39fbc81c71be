package harm

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/process"
)

// commands are moonlap's commands that look into workers. MASTER and WORKER are process IDs, FOLDER is where it may write.
var commands = []command{
	{"explain", "explain --pid WORKER --duration LONG", true},
	{"profile --by ptrace", "profile --by ptrace --hz 499 --master MASTER --duration LONG --out FOLDER/p.html", true},
	{"profile", "profile --by ebpf --master MASTER --duration LONG --out FOLDER/p.html", false},
	{"profile --off-cpu", "profile --off-cpu --master MASTER --duration LONG --out FOLDER/p.html", false},
	{"heap", "heap --master MASTER --pause 500ms --save FOLDER/h.json", true},
	{"profile --locks", "profile --locks --master MASTER --duration LONG --out FOLDER/p.html", false},
	{"profile --resumes", "profile --resumes --master MASTER --duration LONG --out FOLDER/p.html", false},
	{"profile --allocations", "profile --allocations --master MASTER --duration LONG --out FOLDER/p.html", false},
	{"watch", "watch --master MASTER --every 500ms --json --locks --once", false},
	{"watch --capture", "watch --master MASTER --capture FOLDER/captures --when heap>1MB --limit 1 --after 500ms --duration LONG", false},
}

type command struct {
	name, line string
	stops      bool // workers, by ptrace
}

// A look is moonlap while it looks, in a folder of its own.
type look struct {
	*exec.Cmd
	folder string
	mark   string // in the environment of moonlap, and of all that it starts
	output bytes.Buffer
	ended  chan error
	late   bool  // it had ended by itself before the accident could hit it
	known  []int // its processes, shortly before the accident: to look for them would take longer than a worker is held
}

var looks atomic.Int64

// span is how long a command looks.
func span() time.Duration {
	if os.Getenv(timesVariable) == "" {
		return 500 * time.Millisecond
	}
	return time.Second
}

// look starts a command of moonlap: this program, see TestMain. Words before it are a program that starts it.
func (b *bed) look(line string, before ...string) *look {
	b.Helper()
	n := int(looks.Add(1))
	l := &look{folder: filepath.Join(b.folder, "looks", fmt.Sprint(n)), ended: make(chan error, 1)}
	l.mark = fmt.Sprintf("%s=%d.%d", mainVariable, os.Getpid(), n)
	for _, name := range []string{"", "tmp"} {
		if err := os.Mkdir(filepath.Join(l.folder, name), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	some := b.workers()
	if len(some) == 0 {
		b.Fatal("no workers")
	}
	line = strings.NewReplacer("MASTER", strconv.Itoa(b.master), "WORKER", strconv.Itoa(some[n%len(some)]), "FOLDER", l.folder, "LONG", span().String()).Replace(line)
	words := append(append(before, filepath.Join(b.folder, "moonlap")), strings.Fields(line)...)
	l.Cmd = exec.Command(words[0], words[1:]...)
	l.Stdout, l.Stderr = &l.output, &l.output
	l.Env = append(os.Environ(), l.mark, "TMPDIR="+filepath.Join(l.folder, "tmp"), "XDG_CACHE_HOME="+filepath.Join(l.folder, "tmp"), "XDG_DATA_HOME="+filepath.Join(l.folder, "tmp"))
	l.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does
	l.WaitDelay = patience
	if err := l.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		awaitEnd(l.Process.Pid)
		l.ended <- l.Wait()
	}()
	return l
}

// awaitEnd waits until a child has ended. Where a thread of this program traces it, see debug, the kernel tells of each of its stops
// as if that had been asked for, and Wait takes a stop for the end.
func awaitEnd(pid int) {
	const exited, killed, dumped = 1, 2, 3 // codes of waitid(2)
	for {
		var about unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &about, unix.WEXITED|unix.WNOWAIT, nil)
		if err != nil && err != unix.EINTR || err == nil && slices.Contains([]int32{exited, killed, dumped}, about.Code) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// stay waits until moonlap has ended, or for so long.
func (l *look) stay(long time.Duration) (ended bool) {
	select {
	case err := <-l.ended:
		l.ended <- err
		return true
	case <-time.After(long):
		return len(l.ended) > 0 // both may have been ready, and select takes either
	}
}

// finish waits until moonlap has ended; where that takes too long, it is killed, and an error.
func (l *look) finish() error {
	if l.stay(4 * patience) {
		return nil
	}
	state := l.explain() // adds to the output
	l.kill()
	return fmt.Errorf("moonlap did not end by itself: %s%s", l.output.String(), state)
}

// kill kills moonlap and all that it started.
func (l *look) kill() {
	for _, pid := range l.processes() {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	l.stay(patience)
}

// signal sends a signal to some of moonlap's processes, if they still are.
func (l *look) signal(s syscall.Signal, pids ...int) {
	for _, pid := range pids {
		syscall.Kill(pid, s)
	}
}

// processes are moonlap's own, the one that was started first.
func (l *look) processes() (pids []int) {
	all, _ := process.IDs()
	for _, pid := range all {
		if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil && bytes.Contains(env, []byte(l.mark+"\x00")) {
			if s, err := (&process.Process{PID: pid}).Stat(); err == nil && !s.Ended() {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// exits reports whether moonlap has ended with a status, and said one of some things.
func (l *look) exits(status int, said ...string) error {
	out := l.output.String()
	if got := l.ProcessState.ExitCode(); got != status || !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(out, s) }) {
		return fmt.Errorf("exit status %d, not %d, or none of %q: %s", got, status, said, out)
	}
	return nil
}
