// Package store keeps runs: their records, compressed, in a folder records/, and beside it
// an index of their figures, a SQLite file. The records are the source of truth. Whatever
// opens the index first brings it in line with the folder: a record that is there becomes
// an entry, the entry of a record that is gone goes. So a write that failed half way, a
// record copied from elsewhere and an index made anew all come to the same.
package store

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/moonlap/moonlap/internal/record"
)

// A Store is a history. Nothing is touched before one of its methods is called, and
// nothing stays open after.
type Store struct {
	Path string // of the index
	// Place is what people call it by; Records is the folder of the records, and "" is records/ beside the index; Remote has them where
	// the folder is a copy, and is nil where it is not.
	Place   string
	Records string
	Remote  Remote
	index   *postgres // nil: the index is the file alone
	// Summarize makes the figures of a record.
	Summarize func(*record.Record) *record.Results
	// Patience is how long to wait for another moonlap that writes; 0 is 5 s.
	Patience time.Duration
	// Note gets what is worth knowing and no reason to stop: a record that cannot be read.
	// nil: nobody hears of it.
	Note func(text string)
	// Progress is called with how many of the records that the index lacks have been read. nil:
	// nobody hears of it.
	Progress func(read, of int)
}

// Place is where the index is when nobody says otherwise: history.db under moonlap in
// $XDG_DATA_HOME, or in ~/.local/share where that is unset or no absolute path.
func Place(getenv func(string) string) (string, error) {
	data := getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("no place for the history: neither XDG_DATA_HOME nor HOME is set; say where with --history FILE")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "moonlap", "history.db"), nil
}

// ErrEmpty says that there is no history yet.
var ErrEmpty = errors.New("there is no history yet")

// folder is where the records are.
func (s *Store) folder() string {
	if s.Records != "" {
		return s.Records
	}
	return filepath.Join(filepath.Dir(s.Path), "records")
}

func (s *Store) place() string { return cmp.Or(s.Place, s.Path) }

func (s *Store) note(format string, args ...any) {
	if s.Note != nil {
		s.Note(fmt.Sprintf(format, args...))
	}
}

// exists is [ErrEmpty] when neither an index nor a record is there.
func (s *Store) exists() error {
	if s.Remote != nil {
		return nil // it is asked
	}
	_, noIndex := os.Stat(s.Path)
	_, noRecords := os.Stat(s.folder())
	if errors.Is(noIndex, os.ErrNotExist) && errors.Is(noRecords, os.ErrNotExist) {
		return fmt.Errorf("%w: no %s; 'moonlap bench --save NAME' begins one", ErrEmpty, s.place())
	}
	return nil
}

// ReadRecord reads one of the store's records by its file name.
func (s *Store) ReadRecord(name string) (*record.Record, error) {
	return record.ReadFile(filepath.Join(s.folder(), name))
}
