package locks

import (
	"bufio"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/probe/probetest"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/worker"
)

// TestLockPlaces: whatever a compiler makes of functions that take a lock and give it back, a place for a probe is found in each,
// at which each call counts, and counts once.
func TestLockPlaces(t *testing.T) {
	probetest.Need(t)
	for _, c := range [][]string{
		{"gcc", "-O0"}, {"gcc", "-O1"}, {"gcc", "-O2"}, {"gcc", "-O3"}, {"gcc", "-Os"},
		{"gcc", "-O0", "-fcf-protection"}, {"gcc", "-O2", "-fcf-protection"}, {"gcc", "-O2", "-fPIC", "-fno-omit-frame-pointer"},
		{"clang-14", "-O0"}, {"clang-14", "-O2"}, {"clang-14", "-Os", "-fcf-protection"},
	} {
		t.Run(strings.Join(c, " "), func(t *testing.T) {
			countLocks(t, compiled(t, c[0], c[1:]...))
		})
	}
}

// TestLockPlacesBefore: the same as older kernels have it.
func TestLockPlacesBefore(t *testing.T) {
	probetest.Need(t)
	have := probe.HaveMulti
	defer func() { probe.HaveMulti = have }()
	probe.HaveMulti = func() bool { return false }
	countLocks(t, compiled(t, "gcc", "-O2"))
}

// compiled is the program of testdata/shmtx.c.
func compiled(t *testing.T, compiler string, flags ...string) (program string) {
	t.Helper()
	path, err := exec.LookPath(compiler)
	if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	program = filepath.Join(t.TempDir(), "shmtx")
	out, err := exec.Command(path, append(flags, "-pthread", "-o", program, "testdata/shmtx.c")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func countLocks(t *testing.T, program string) {
	const rounds = 1000
	code, lock := codeIn(t, program, "shmtx_lock")
	at, err := probe.CheapAtEntry("shmtx_lock", code)
	if err != nil {
		t.Fatal(err)
	}
	lock += at
	code, unlock := codeIn(t, program, "shmtx_unlock")
	if at, err = probe.CheapAt("shmtx_unlock", code); err != nil {
		t.Fatal(err)
	}
	unlock += at
	command := exec.Command(program)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); command.Wait() }()
	lines := bufio.NewReader(stdout)
	said := func(want string) {
		t.Helper()
		if line, err := lines.ReadString('\n'); err != nil || line != want+"\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}
	said("ready")
	w := &worker.Worker{Process: &process.Process{PID: command.Process.Pid}}
	o, err := newObserver(w, program, lock, unlock, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := o.Attach(); err != nil {
		t.Fatal(err)
	}
	in.Write([]byte("\n"))
	said("done")
	o.Detach()
	var address uint64
	var l lockLocked
	n := 0
	for all := o.objects.Locks.Iterate(); all.Next(&address, &l); n++ {
		waits, holds := probe.DurationsOf(l.Waits.Sum, 0, 0, l.Waits.Counts[:]), probe.DurationsOf(l.Holds.Sum, 0, 0, l.Holds.Counts[:])
		if waits.Count != rounds || holds.Count != rounds || waits.Total == 0 || holds.Total == 0 {
			t.Errorf("%#x: %d waits in %v, %d holds in %v; unlock at %d", address, waits.Count, waits.Total, holds.Count, holds.Total, unlock)
		}
	}
	if n != 2 {
		t.Fatalf("%d locks", n)
	}
}

// codeIn is a function's code in a program, and where that is in the file.
func codeIn(t *testing.T, program, function string) (code []byte, offset uint64) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == function {
			section := f.Sections[s.Section]
			code = make([]byte, s.Size)
			if _, err := section.ReadAt(code, int64(s.Value-section.Addr)); err != nil {
				t.Fatal(err)
			}
			return code, s.Value - section.Addr + section.Offset
		}
	}
	t.Fatalf("%s has no %s", program, function)
	return nil, 0
}
