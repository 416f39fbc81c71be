package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite" // and the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// applicationID marks our files, see PRAGMA application_id: "moon".
	applicationID = 0x6d6f6f6e
	// schemaVersion counts up with every change of the tables, and of the statistics when
	// figures must be computed anew.
	schemaVersion = 2
)

const tables = `
CREATE TABLE runs (
	record   TEXT PRIMARY KEY, -- file name in records/
	name     TEXT NOT NULL,    -- that it is saved as
	kind     TEXT NOT NULL,
	file     TEXT NOT NULL,    -- bench file, without its folder
	started  TEXT NOT NULL,    -- UTC, with milliseconds
	commit_  TEXT NOT NULL,
	dirty    INTEGER NOT NULL,
	yardsticks TEXT NOT NULL   -- JSON: the best that is known, ns by kind; null where none was timed
) STRICT, WITHOUT ROWID;
CREATE TABLE settings (
	id    TEXT PRIMARY KEY, -- hash of facts
	facts TEXT NOT NULL     -- JSON
) STRICT, WITHOUT ROWID;
CREATE TABLE cases (
	record    TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
	number    INTEGER NOT NULL,
	name      TEXT NOT NULL,
	setting   TEXT NOT NULL REFERENCES settings,
	ns        REAL, -- NULL: no figure
	low       REAL,
	high      REAL,
	processes INTEGER NOT NULL,
	slowed    REAL NOT NULL, -- by how much the machine may have slowed it, 0.4 is 40 %
	PRIMARY KEY (record, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX cases_by_name ON cases (name);
CREATE INDEX runs_by_name ON runs (name, started);
`

// An index is a database with the tables: SQLite's, which one machine has for itself, or PostgreSQL's, which several share.
type index struct {
	*sql.DB
	shared bool
	away   bool // the place of the records was not reached
}

// open opens the index, makes it when it is new, and brings it in line with the records.
func (s *Store) open(ctx context.Context) (*index, error) {
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil {
		return nil, s.fault(err)
	}
	release, err := s.await(ctx)
	if err != nil {
		return nil, s.fault(err)
	}
	defer release()
	if s.index != nil {
		return s.openEither(ctx)
	}
	reached, err := s.exchange(ctx)
	if err != nil {
		return nil, s.fault(err)
	}
	return s.openFile(ctx, reached)
}

// openFile opens the index in SQLite, in line with the records.
func (s *Store) openFile(ctx context.Context, reached bool) (*index, error) {
	db, err := s.connect()
	if err != nil {
		return nil, s.fault(err)
	}
	x := &index{DB: db, away: !reached}
	if err := s.sync(ctx, x); err != nil {
		db.Close()
		return nil, s.fault(err)
	}
	return x, nil
}

// openEither opens the index in PostgreSQL, or that of this machine where PostgreSQL's cannot be used just now. What it lacks enters it
// with a later use.
func (s *Store) openEither(ctx context.Context) (*index, error) {
	x, known, away := s.openShared(ctx)
	reached, err := s.exchange(ctx)
	if err != nil {
		if x != nil {
			x.Close()
		}
		return nil, s.fault(err)
	}
	if away == nil && reached {
		if away = s.alignShared(ctx, x, known); away == nil {
			return x, nil
		}
	}
	if x != nil {
		x.Close()
	}
	if away != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.note("%v. The index of this machine is used; what the other one lacks enters it when it can be used", away)
	}
	return s.openFile(ctx, reached)
}

// connect opens the file and sees that it is a sound index of ours.
func (s *Store) connect() (*sql.DB, error) {
	path, err := filepath.Abs(s.Path)
	if err != nil {
		return nil, err
	}
	if err := vet(path); err != nil {
		return nil, err
	}
	patience := s.Patience
	if patience == 0 {
		patience = 5 * time.Second
	}
	// The path is part of a URI, so its special characters are escaped. A transaction
	// takes the write lock when it begins: one that reads first could not wait for it.
	name := (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: url.Values{
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()), "foreign_keys(1)"},
		"_txlock": {"immediate"},
	}.Encode()}).String()
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // it stays open, and keeps its bounds
	err = bound(db)
	if err == nil {
		err = prepare(db)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// Bounds of an index, which may come from anybody. Ours has a few hundred bytes a case; settings are its longest values.
const (
	mostIndex = 512 << 20
	mostValue = 1 << 20
)

// vet refuses what can be no index before it is opened: a pipe would be waited for, and a device may have no end.
func vet(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil || info.IsDir():
		return nil // SQLite says it
	case !info.Mode().IsRegular():
		return errNoFile
	case info.Size() > mostIndex:
		return fmt.Errorf("%w: it is larger than %d MB", errDamaged, mostIndex>>20)
	}
	return nil
}

// bound has SQLite refuse values that are longer than ours, and functions in a schema.
func bound(db *sql.DB) error {
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_LENGTH, mostValue); err != nil {
		return err
	}
	_, err = conn.ExecContext(context.Background(), "PRAGMA trusted_schema = 0")
	return err
}

var (
	errNoFile  = errors.New("it is neither a plain file nor missing")
	errNewer   = errors.New("it was written by a newer moonlap")
	errForeign = errors.New("it is a database of another program")
	errDamaged = errors.New("it is damaged")
)

// prepare makes the tables of a new file, and of one that an older moonlap wrote.
func prepare(db *sql.DB) error {
	sound, err := isCurrent(db)
	if err != nil || sound {
		return err
	}
	return inTransaction(db, func(tx *sql.Tx) error {
		if sound, err := isCurrent(tx); err != nil || sound { // another moonlap was quicker
			return err
		}
		return create(tx)
	})
}

// create makes the tables, in place of those that are there.
func create(tx *sql.Tx) error {
	_, err := tx.Exec("DROP TABLE IF EXISTS cases; DROP TABLE IF EXISTS settings; DROP TABLE IF EXISTS runs;" + tables +
		fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, schemaVersion))
	return err
}

// A queryer is a database or a transaction.
type queryer interface {
	QueryRow(query string, args ...any) *sql.Row
	Query(query string, args ...any) (*sql.Rows, error)
}

// isCurrent reports whether the file is a sound index of this version.
func isCurrent(db queryer) (bool, error) {
	var id, version, objects, ours int
	var check string
	for query, to := range map[string]any{
		"PRAGMA application_id":              &id,
		"PRAGMA user_version":                &version,
		"SELECT count(*) FROM sqlite_schema": &objects,
		"PRAGMA quick_check(1)":              &check,
		"SELECT count(*) FROM sqlite_schema WHERE name IN ('runs', 'cases', 'settings')": &ours,
	} {
		if err := db.QueryRow(query).Scan(to); err != nil {
			return false, err
		}
	}
	switch {
	case check != "ok":
		return false, fmt.Errorf("%w: %s", errDamaged, check)
	case id != applicationID && objects > 0:
		return false, errForeign
	case version > schemaVersion:
		return false, errNewer
	case id != applicationID || version != schemaVersion:
		return false, nil
	case ours != 3:
		return false, fmt.Errorf("%w: it lacks a table", errDamaged)
	}
	return true, checkSchema(db)
}

// checkSchema refuses what has the names of our tables and is something else, as a view without an end, and what would run when
// they are used, as a trigger.
func checkSchema(db queryer) error {
	rows, err := db.Query("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL") // SQLite's own indexes have none
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
		if !strings.Contains(tables, text+";") {
			return fmt.Errorf("%w: %q is not moonlap's", errDamaged, name)
		}
	}
	return rows.Err()
}

// inTransaction does all of work or nothing.
func inTransaction(db *sql.DB, work func(*sql.Tx) error) error {
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
