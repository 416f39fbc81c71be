package probe_test

import (
	"bufio"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/probe"
)

// TestLockPlaces: whatever a compiler makes of functions that take a lock and give it back, a place for a probe is found in each,
// at which each call counts, and counts once.
func TestLockPlaces(t *testing.T) {
	session := open(t)
	for _, c := range [][]string{
		{"gcc", "-O0"}, {"gcc", "-O1"}, {"gcc", "-O2"}, {"gcc", "-O3"}, {"gcc", "-Os"},
		{"gcc", "-O0", "-fcf-protection"}, {"gcc", "-O2", "-fcf-protection"}, {"gcc", "-O2", "-fPIC", "-fno-omit-frame-pointer"},
		{"clang-14", "-O0"}, {"clang-14", "-O2"}, {"clang-14", "-Os", "-fcf-protection"},
	} {
		t.Run(strings.Join(c, " "), func(t *testing.T) {
			countLocks(t, session, compiled(t, c[0], c[1:]...))
		})
	}
}

// TestLockPlacesBefore: the same as older kernels have it.
func TestLockPlacesBefore(t *testing.T) {
	defer probe.OneByOne()()
	session := open(t)
	countLocks(t, session, compiled(t, "gcc", "-O2"))
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

func countLocks(t *testing.T, session *probe.Session, program string) {
	const rounds = 1000
	target := probe.LockTarget{Program: program}
	var err error
	if target.Lock, err = probe.CheapAtEntry("shmtx_lock", codeIn(t, program, "shmtx_lock")); err != nil {
		t.Fatal(err)
	}
	if target.Unlock, err = probe.CheapAt("shmtx_unlock", codeIn(t, program, "shmtx_unlock")); err != nil {
		t.Fatal(err)
	}
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
	target.PID = command.Process.Pid
	p, err := session.ProbeLocks(target)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Attach(); err != nil {
		t.Fatal(err)
	}
	in.Write([]byte("\n"))
	said("done")
	p.Detach()
	locks, err := p.Read()
	if err != nil || len(locks) != 2 {
		t.Fatalf("%d locks, %v", len(locks), err)
	}
	for _, l := range locks {
		if l.Waits.Count() != rounds || l.Holds.Count() != rounds || l.Waits.Sum == 0 || l.Holds.Sum == 0 {
			t.Errorf("%#x: %d waits in %v, %d holds in %v; unlock at %d", l.Address, l.Waits.Count(), l.Waits.Sum,
				l.Holds.Count(), l.Holds.Sum, target.Unlock.Offset)
		}
	}
}

// codeIn is a function's code in a program.
func codeIn(t *testing.T, program, function string) []byte {
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
			code := make([]byte, s.Size)
			if _, err := section.ReadAt(code, int64(s.Value-section.Addr)); err != nil {
				t.Fatal(err)
			}
			return code
		}
	}
	t.Fatalf("%s has no %s", program, function)
	return nil
}
