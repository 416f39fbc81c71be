package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A Fault is what keeps the index from being used, with the remedy. The records are not
// touched by it.
type Fault struct {
	Path   string
	Text   string // what is wrong
	Advice string // what to do
	Err    error

	damaged bool // made again, it will do
}

func (f *Fault) Error() string {
	return fmt.Sprintf("the history %s: %s; %s", f.Path, f.Text, f.Advice)
}

func (f *Fault) Unwrap() error { return f.Err }

const rebuildAdvice = "'moonlap history --rebuild' makes it again from the records"

// fault puts what went wrong with the files of the store into words; other errors stay as
// they are.
func (s *Store) fault(err error) error {
	if err == nil || errors.As(err, new(*Fault)) {
		return err
	}
	f := &Fault{Path: s.Path, Text: err.Error(), Err: err}
	const elsewhere = "name another file with --history"
	code := -1
	var fromSQLite *sqlite.Error
	if errors.As(err, &fromSQLite) {
		code = fromSQLite.Code() & 0xff // the low byte; the rest is detail
	}
	switch {
	case errors.Is(err, errNewer):
		f.Advice = "use that moonlap, or " + elsewhere
	case errors.Is(err, errForeign), errors.Is(err, errNoFile):
		f.Advice = elsewhere
	case code == sqlite3.SQLITE_NOTADB:
		f.Text, f.Advice, f.damaged = "it is no database, or damaged", rebuildAdvice, true
	case errors.Is(err, errDamaged), code == sqlite3.SQLITE_CORRUPT, code == sqlite3.SQLITE_TOOBIG:
		f.Text, f.Advice, f.damaged = "it is damaged", rebuildAdvice, true
	case code == sqlite3.SQLITE_BUSY, code == sqlite3.SQLITE_LOCKED:
		f.Text, f.Advice = "another program has locked it", "try again when that has ended"
	case code == sqlite3.SQLITE_READONLY, errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		f.Text, f.Advice = "it cannot be written", "allow it, or "+elsewhere
	case code == sqlite3.SQLITE_FULL, errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		f.Text, f.Advice = "the disk is full", "make room, or "+elsewhere
	case code == sqlite3.SQLITE_CANTOPEN:
		f.Text, f.Advice = "it cannot be opened", elsewhere
	case code == sqlite3.SQLITE_IOERR:
		f.Advice = "look at the disk, or " + elsewhere
	case code >= 0:
		f.Advice = rebuildAdvice
	case errors.As(err, new(*os.PathError)), errors.As(err, new(*os.LinkError)):
		f.Advice = elsewhere
	default:
		return err
	}
	return f
}
