package store

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// obeyModes makes the test heed the permissions of files, which root need not. Its thread
// ends with the test.
func obeyModes(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&header, &caps[0]); err != nil {
		t.Fatal(err)
	}
	caps[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	if err := unix.Capset(&header, &caps[0]); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, mode os.FileMode, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
}

// A history that may only be read is read; what should be written to it is saved elsewhere.
func TestReadOnly(t *testing.T) {
	obeyModes(t)
	t.Setenv("TMPDIR", t.TempDir())
	s := newStore(t)
	a := map[string]float64{"a": 1}
	keep(t, s, made{name: "main", at: 1, cases: a})
	chmod(t, 0o444, s.Path)
	chmod(t, 0o555, s.folder(), filepath.Dir(s.Path))
	t.Cleanup(func() { os.Chmod(s.folder(), 0o755); os.Chmod(filepath.Dir(s.Path), 0o755) })

	if h, err := s.History(background, "a"); err != nil || len(h.Series) != 1 {
		t.Errorf("reading: %+v, %v", h, err)
	}
	if rec, err := s.Baseline(background, "main", "", "bench"); err != nil || rec == nil {
		t.Errorf("the baseline: %v", err)
	}
	const want = "it cannot be written; allow it, or name another file with --history"
	path, err := s.Keep(background, made{name: "main", at: 2, cases: a}.draft(t))
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) || filepath.Dir(path) != os.Getenv("TMPDIR") {
		t.Errorf("keep: %s, %v", path, err)
	}
	_, err = s.Rebuild(background)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("rebuild: %v", err)
	}
	_, err = s.Delete(background, "main")
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("delete: %v", err)
	}

	// Records are writable, the index is not: the run is kept, and enters it later.
	chmod(t, 0o755, s.folder())
	path, err = s.Keep(background, made{name: "main", at: 3, cases: a}.draft(t))
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Nothing is lost") || filepath.Dir(path) != s.folder() {
		t.Errorf("keep: %s, %v", path, err)
	}
	chmod(t, 0o755, filepath.Dir(s.Path))
	chmod(t, 0o644, s.Path)
	if h, err := s.History(background, "a"); err != nil || len(h.Series[0].Points) != 2 {
		t.Errorf("afterwards: %+v, %v", h, err)
	}

	// Nor can a record be read.
	chmod(t, 0, path)
	var notes []string
	s.Note = func(text string) { notes = append(notes, text) }
	if n, err := s.Rebuild(background); n != 1 || err != nil || len(notes) != 1 || !strings.Contains(notes[0], path) {
		t.Errorf("an unreadable record: %d runs, %v, %q", n, err, notes)
	}
}

const limitedMark = "MOONLAP_TEST_LIMITED"

// When writing ends in the middle, as on a disk that is full, the index stays as it was,
// nothing half written is left, and the runs enter the history when there is room.
func TestWriteEndsInTheMiddle(t *testing.T) {
	// In a process of its own: the limit is on all of a process's files, also those of go test.
	if os.Getenv(limitedMark) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWriteEndsInTheMiddle$")
		cmd.Env = append(os.Environ(), limitedMark+"=1")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return
	}
	t.Setenv("TMPDIR", t.TempDir())
	s := newStore(t)
	a := map[string]float64{"a": 1}
	keep(t, s, made{name: "main", at: 1, cases: a})
	// Many records that the index does not know: it must grow by more than it may.
	known := *s
	known.Path = filepath.Join(t.TempDir(), "history.db")
	for i := range 40 {
		moved := keep(t, &known, made{name: strings.Repeat("long name ", 9), at: 2 + i, cases: a})
		if err := os.Rename(moved, filepath.Join(s.folder(), filepath.Base(moved))); err != nil {
			t.Fatal(err)
		}
	}
	size := func() uint64 {
		info, err := os.Stat(s.Path)
		if err != nil {
			t.Fatal(err)
		}
		return uint64(info.Size())
	}

	limited(t, size(), func() {
		var f *Fault
		if _, err := s.History(background, "a"); !errors.As(err, &f) || f.damaged {
			t.Errorf("history: %v", err)
		}
		path, err := s.Keep(background, made{name: "main", at: 100, cases: a}.draft(t))
		if err == nil || !strings.Contains(err.Error(), "Nothing is lost") || filepath.Dir(path) != s.folder() {
			t.Errorf("keep: %s, %v", path, err)
		}
	})
	if h, err := s.History(background, "a"); err != nil || len(h.Series[0].Points) != 42 {
		t.Errorf("afterwards: %v", err)
	}

	limited(t, 100, func() {
		_, err := s.Keep(background, made{name: "main", at: 200, cases: a}.draft(t))
		if err == nil || !strings.Contains(err.Error(), "the run's record is lost") {
			t.Errorf("no room for the record: %v", err)
		}
	})
	for _, folder := range []string{s.folder(), os.Getenv("TMPDIR")} {
		if left, _ := filepath.Glob(filepath.Join(folder, "[.m]*")); len(left) > 0 {
			t.Errorf("half written: %v", left)
		}
	}
	if h, err := s.History(background, "a"); err != nil || len(h.Series[0].Points) != 42 {
		t.Errorf("at the end: %v", err)
	}
}

// limited runs do while no file of this process can grow beyond N bytes.
func limited(t *testing.T, bytes uint64, do func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
	}()
	do()
}
