package runtime

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A guard is a second process, which ends what we have started when we are killed: the kernel ends our children with us, but not
// what those have started. What runs is noted in memory that both see, so the guard sleeps while code is measured.
type guard struct {
	cmd  *exec.Cmd
	in   io.Closer
	mu   sync.Mutex
	note *os.File
	runs []int // by slot: what is noted there
}

// guardName is the argv[0] by which this program starts itself as the guard, whatever program it is: moonlap, or a test of it.
const guardName = "moonlap-guard"

func init() {
	if len(os.Args) == 4 && os.Args[0] == guardName {
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
		io.Copy(io.Discard, os.Stdin) // it ends when who started us has, and nobody else has the other end
		limit, _ := strconv.ParseUint(os.Args[2], 10, 64)
		watchOver(os.NewFile(3, "note"), marks{os.Args[1], limit}, os.Args[3])
		os.Exit(0)
	}
}

// guardVariable marks all that we start, and what that starts, wherever it goes: it holds the mark of each moonlap above.
const guardVariable = "MOONLAP_GUARD"

// mark is ours.
var mark = sync.OnceValue(rand.Text)

// marked is the variable for what we start.
func marked() string {
	if above := os.Getenv(guardVariable); above != "" {
		return guardVariable + "=" + above + "," + mark()
	}
	return guardVariable + "=" + mark()
}

// guarded is this process's guard. Before the first program starts, it does.
var guarded = sync.OnceValues(func() (*guard, error) {
	guardBegun.Store(true)
	return startGuard()
})

var guardBegun atomic.Bool

func startGuard() (*guard, error) {
	fail := func(err error) (*guard, error) {
		return nil, fmt.Errorf("nothing would end what is started here if moonlap were killed: %w", err)
	}
	folders, err := ownFolders()
	if err != nil {
		return fail(err)
	}
	fd, err := unix.MemfdCreate("moonlap-guard", unix.MFD_CLOEXEC)
	if err != nil {
		return fail(os.NewSyscallError("memfd_create", err))
	}
	g := &guard{cmd: exec.Command("/proc/self/exe", mark(), strconv.FormatUint(limits(), 10), folders), note: os.NewFile(uintptr(fd), "note")}
	g.cmd.Args[0] = guardName
	g.cmd.Env, g.cmd.Dir = []string{}, "/" // it is nobody's child that is looked for, and keeps no folder busy
	g.cmd.ExtraFiles = []*os.File{g.note}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if g.in, err = g.cmd.StdinPipe(); err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		g.note.Close()
		return fail(err)
	}
	return g, nil
}

// The note's first number is 0 when nothing is to be done any more. The others are what runs: a process group, or, below 0, a
// process that is in ours.
func (g *guard) set(slot, value int) {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], uint64(value))
	g.note.WriteAt(b[:], int64(slot)*int64(len(b)))
}

// add notes what runs, until remove.
func (g *guard) add(what int) (remove func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	slot := 0
	for slot < len(g.runs) && g.runs[slot] != 0 {
		slot++
	}
	if slot == len(g.runs) {
		g.runs = append(g.runs, 0)
	}
	g.runs[slot] = what
	g.set(0, 1)
	g.set(1+slot, what)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.runs[slot] = 0
		g.set(1+slot, 0)
	}
}

// Guard ends the process group, and whatever has [GuardedEnv] in its environment or was started by [StartGuarded], should we be
// killed before release.
func Guard(group int) (release func(), err error) {
	g, err := guarded()
	if err != nil {
		return nil, err
	}
	return g.add(group), nil
}

// GuardedEnv is our environment for a program that is given to [Guard].
func GuardedEnv() []string { return environ() }

// Dismiss tells the guard, where there is one, that this program ends by itself, and uninterrupted: what is to outlive it may.
func Dismiss() {
	if !guardBegun.Load() {
		return
	}
	if g, err := guarded(); err == nil {
		g.set(0, 0)
	}
}

// read is the note as the guard finds it.
func readNote(note *os.File) (groups, processes []int) {
	b, err := io.ReadAll(io.NewSectionReader(note, 0, 1<<20))
	if err != nil || len(b) < 8 || binary.NativeEndian.Uint64(b) == 0 {
		return nil, nil
	}
	groups = []int{}
	for b = b[8:]; len(b) >= 8; b = b[8:] {
		switch what := int(int64(binary.NativeEndian.Uint64(b))); {
		case what > 1:
			groups = append(groups, what)
		case what < -1:
			processes = append(processes, -what)
		}
	}
	return groups, processes
}

// ownFolders begins the paths of our private folders.
func ownFolders() (string, error) {
	start, err := startTime(os.Getpid())
	if err != nil {
		return "", err
	}
	return os.TempDir() + "/" + folderName(pidNamespace(), os.Getpid(), start), nil
}

func folderName(namespace string, pid int, start string) string {
	return "moonlap-" + namespace + "-" + strconv.Itoa(pid) + "-" + start + "-"
}
