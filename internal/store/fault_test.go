package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// spoil changes the index with SQL.
func spoil(t *testing.T, s *Store, statements string) {
	t.Helper()
	db, err := s.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
}

// elsewhere opens the index as another program does, where ours refuses it.
func elsewhere(s *Store) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(s.Path))
}

// Whatever is wrong with the index, each use says what and how to go on, the record of a
// run is kept, and the index knows it when it is usable again.
func TestSpoiltIndex(t *testing.T) {
	a := map[string]float64{"a": 1}
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, s *Store) (repair func())
		want  string // of every message
		made  bool   // --rebuild repairs it
	}{
		{"no database", func(t *testing.T, s *Store) func() {
			write(t, s.Path, strings.Repeat("this is not a database\n", 300))
			return nil
		}, "it is no database, or damaged; 'moonlap history --rebuild' makes it again", true},
		{"cut off", func(t *testing.T, s *Store) func() {
			if err := os.Truncate(s.Path, 5000); err != nil {
				t.Fatal(err)
			}
			return nil
		}, "it is damaged; 'moonlap history --rebuild' makes it again", true},
		{"overwritten in the middle", func(t *testing.T, s *Store) func() {
			b, err := os.ReadFile(s.Path)
			if err != nil {
				t.Fatal(err)
			}
			for i := 4096; i < len(b); i++ {
				b[i] = 0xa5
			}
			write(t, s.Path, string(b))
			return nil
		}, "it is damaged; 'moonlap history --rebuild' makes it again", true},
		{"without a table", func(t *testing.T, s *Store) func() {
			spoil(t, s, "DROP TABLE cases")
			return nil
		}, "it is damaged; 'moonlap history --rebuild' makes it again", true},
		{"a terabyte", func(t *testing.T, s *Store) func() {
			if err := os.Truncate(s.Path, 1<<40); err != nil {
				t.Fatal(err)
			}
			return nil
		}, "it is damaged; 'moonlap history --rebuild' makes it again", true},
		{"a view without an end", func(t *testing.T, s *Store) func() {
			spoil(t, s, `DROP TABLE runs; CREATE VIEW runs AS WITH RECURSIVE r(record) AS (SELECT '1' UNION ALL SELECT record || '1' FROM r)
				SELECT record, record AS name FROM r`)
			return nil
		}, "it is damaged; 'moonlap history --rebuild' makes it again", true},
		{"a trigger", func(t *testing.T, s *Store) func() {
			spoil(t, s, "CREATE TRIGGER x AFTER INSERT ON runs BEGIN DELETE FROM cases; END")
			return nil
		}, "it is damaged; 'moonlap history --rebuild' makes it again", true},
		{"a pipe", func(t *testing.T, s *Store) func() {
			if err := errors.Join(os.Remove(s.Path), syscall.Mkfifo(s.Path, 0o600)); err != nil {
				t.Fatal(err)
			}
			return func() { os.Remove(s.Path) }
		}, "it is neither a plain file nor missing; name another file with --history", false},
		{"a device", func(t *testing.T, s *Store) func() {
			if err := errors.Join(os.Remove(s.Path), os.Symlink("/dev/zero", s.Path)); err != nil {
				t.Fatal(err)
			}
			return func() { os.Remove(s.Path) }
		}, "it is neither a plain file nor missing; name another file with --history", false},
		{"newer", func(t *testing.T, s *Store) func() {
			spoil(t, s, "PRAGMA user_version = 99")
			return func() { // with another program, as ours refuses it
				db, err := elsewhere(s)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				if _, err := db.Exec(fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)); err != nil {
					t.Fatal(err)
				}
			}
		}, "it was written by a newer moonlap; use that moonlap, or name another file with --history", false},
		{"another program's", func(t *testing.T, s *Store) func() {
			spoil(t, s, "PRAGMA application_id = 7")
			return func() { os.Remove(s.Path) }
		}, "it is a database of another program; name another file with --history", false},
		{"locked", func(t *testing.T, s *Store) func() {
			db, err := s.connect()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec("BEGIN EXCLUSIVE"); err != nil {
				t.Fatal(err)
			}
			return func() { db.Close() }
		}, "another program has locked it; try again when that has ended", false},
		{"a folder", func(t *testing.T, s *Store) func() {
			if err := errors.Join(os.Remove(s.Path), os.Mkdir(s.Path, 0o755)); err != nil {
				t.Fatal(err)
			}
			return func() { os.Remove(s.Path) }
		}, "it cannot be opened; name another file with --history", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			keep(t, s, made{name: "main", at: 1, cases: a})
			repair := c.spoil(t, s)
			check := func(what string, err error) {
				t.Helper()
				var f *Fault
				if !errors.As(err, &f) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), s.Path) {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err := s.History(background, "")
			check("history", err)
			_, err = s.Baseline(background, "main", "", "bench")
			check("baseline", err)
			_, err = s.Delete(background, "main")
			check("delete", err)
			path, err := s.Keep(background, made{name: "main", at: 2, cases: a}.draft(t))
			check("keep", err)
			if !strings.Contains(err.Error(), "Nothing is lost") || filepath.Dir(path) != s.folder() {
				t.Errorf("keep: %v", err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
			if repair != nil {
				_, err := s.Rebuild(background)
				check("rebuild", err)
				repair()
			} else if n, err := s.Rebuild(background); n != 2 || err != nil {
				t.Fatalf("rebuild: %d runs, %v", n, err)
			}
			h, err := s.History(background, "a")
			if err != nil || len(h.Series) != 1 || len(h.Series[0].Points) != 2 {
				t.Errorf("afterwards: %+v, %v", h, err)
			}
		})
	}
}

// An index of an older moonlap is made again from the records, without a word.
func TestOlderIndex(t *testing.T) {
	s := newStore(t)
	keep(t, s, made{name: "main", cases: map[string]float64{"a": 1}})
	spoil(t, s, "PRAGMA user_version = 0; DROP TABLE cases; DROP TABLE settings; CREATE TABLE cases (other TEXT)")
	if h, err := s.History(background, "a"); err != nil || len(h.Series) != 1 || len(h.Series[0].Points) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A damaged index is moved aside, one after the other: it may be the user's own file.
func TestRebuildKeepsWhatItReplaces(t *testing.T) {
	s := newStore(t)
	keep(t, s, made{name: "main", cases: map[string]float64{"a": 1}})
	notes := 0
	s.Note = func(string) { notes++ }
	for _, text := range []string{strings.Repeat("my notes ", 99), strings.Repeat("my other ", 99)} {
		write(t, s.Path, text)
		if _, err := s.Rebuild(background); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{".damaged": "my notes", ".damaged-2": "my other"} {
		if b, err := os.ReadFile(s.Path + name); err != nil || !strings.HasPrefix(string(b), want) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if notes != 2 {
		t.Errorf("%d notes", notes)
	}
}

// A run that the store has no place for is saved elsewhere.
func TestNoPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	t.Setenv("TMPDIR", t.TempDir())
	s := storeIn(filepath.Join(file, "history.db"))
	path, err := s.Keep(background, made{name: "main", cases: map[string]float64{"a": 1}}.draft(t))
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "Nothing is lost") || filepath.Dir(path) != os.Getenv("TMPDIR") {
		t.Fatalf("%s: %v", path, err)
	}
	// As the message says: moved into the folder, it enters the history.
	good := newStore(t)
	if err := os.MkdirAll(good.folder(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, filepath.Join(good.folder(), filepath.Base(path))); err != nil {
		t.Fatal(err)
	}
	if h, err := good.History(background, "a"); err != nil || len(h.Series) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	t.Setenv("TMPDIR", file)
	if _, err := s.Keep(background, made{name: "main"}.draft(t)); err == nil || !strings.Contains(err.Error(), "record is lost") {
		t.Errorf("no place at all: %v", err)
	}
}

// Every fault that a disk can have gets words and a remedy.
func TestFaultWords(t *testing.T) {
	s := storeIn("/x/history.db")
	for err, want := range map[error]string{
		syscall.ENOSPC: "the disk is full; make room",
		syscall.EDQUOT: "the disk is full; make room",
		syscall.EROFS:  "it cannot be written; allow it",
		syscall.EACCES: "it cannot be written; allow it",
		syscall.EIO:    "name another file with --history",
	} {
		got := s.fault(&fs.PathError{Op: "write", Path: "/x/records/.draft-1", Err: err}).Error()
		if !strings.HasPrefix(got, "the history /x/history.db: ") || !strings.Contains(got, want) {
			t.Errorf("%v: %s", err, got)
		}
	}
	if err := errors.New("of something else"); s.fault(err) != err {
		t.Errorf("%v", s.fault(err))
	}
}

// SQLite's own word for a full disk: no page more is to be had.
func TestFullDatabase(t *testing.T) {
	s := newStore(t)
	keep(t, s, made{name: "main", cases: map[string]float64{"a": 1}})
	db, err := s.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec("PRAGMA max_page_count = 1; CREATE TABLE more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) SELECT i FROM n")
	if err = s.fault(err); err == nil || !strings.Contains(err.Error(), "the disk is full; make room") {
		t.Errorf("%v", err)
	}
}

// A record that cannot be read is told of and does not keep the others out.
func TestDamagedRecord(t *testing.T) {
	s := newStore(t)
	path := keep(t, s, made{name: "main", at: 1, cases: map[string]float64{"a": 1}})
	keep(t, s, made{name: "main", at: 2, cases: map[string]float64{"a": 1}})
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(b[:len(b)/2]))
	write(t, filepath.Join(s.folder(), "notes.txt"), "not a record")
	write(t, filepath.Join(s.folder(), "empty"+recordSuffix), "")
	var notes []string
	s.Note = func(text string) { notes = append(notes, text) }
	if n, err := s.Rebuild(background); n != 1 || err != nil {
		t.Errorf("%d runs, %v", n, err)
	}
	if len(notes) != 2 || !strings.Contains(strings.Join(notes, " "), path) {
		t.Errorf("notes: %q", notes)
	}
	// Nor does one that is missing, and it is told of once.
	for _, left := range []string{path, filepath.Join(s.folder(), "empty"+recordSuffix)} {
		if err := os.Remove(left); err != nil {
			t.Fatal(err)
		}
	}
	missing := keep(t, s, made{name: "main", at: 3, cases: map[string]float64{"a": 1}})
	if err := os.Remove(missing); err != nil {
		t.Fatal(err)
	}
	notes = nil
	for range 2 {
		if h, err := s.History(background, "a"); err != nil || len(h.Series[0].Points) != 1 {
			t.Errorf("%+v, %v", h, err)
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "are gone from "+s.folder()+": "+filepath.Base(missing)) {
		t.Errorf("notes: %q", notes)
	}
}

// TestLongValues: a value that no moonlap writes is refused before there is memory for it.
func TestLongValues(t *testing.T) {
	s := newStore(t)
	keep(t, s, made{name: "main", at: 1, cases: map[string]float64{"a": 1}})
	db, err := elsewhere(s)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE settings SET facts = CAST(zeroblob(3000000) AS TEXT)"); err != nil {
		t.Fatal(err)
	}
	var f *Fault
	if _, err := s.History(background, ""); !errors.As(err, &f) || !strings.Contains(err.Error(), "it is damaged; 'moonlap history --rebuild'") {
		t.Errorf("%v", err)
	}
	if runs, err := s.Rebuild(background); err != nil || runs != 1 {
		t.Errorf("made again it has %d runs, %v", runs, err)
	}
	if h, err := s.History(background, ""); err != nil || len(h.Series) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
}
