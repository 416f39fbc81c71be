package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/record"
)

const (
	recordSuffix = ".jsonl.gz"
	draftAge     = time.Hour // what is older was left by a moonlap that was killed
)

// sync brings the index in line with the folder of records.
func (s *Store) sync(ctx context.Context, x *index) error {
	// The index is read before the folder: a record that another moonlap adds in between
	// is then in neither, and not taken for one that is gone.
	known, err := column(x, "SELECT record FROM runs")
	if err != nil {
		return err
	}
	return s.align(ctx, x, known)
}

// align brings an index that knows some records in line with the folder.
func (s *Store) align(ctx context.Context, x *index, known map[string]bool) error {
	present, err := s.records()
	if err != nil {
		return err
	}
	added := []entry{}
	missing := slices.DeleteFunc(keys(present), func(name string) bool { return known[name] })
	for i, name := range missing {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.Progress != nil {
			s.Progress(i, len(missing))
		}
		e, err := s.entryOf(name)
		if err != nil {
			s.note("left out of the history: %v; move it out of %s", err, s.folder())
			continue
		}
		added = append(added, e)
	}
	gone := slices.DeleteFunc(keys(known), func(name string) bool { return present[name] })
	if len(added) == 0 && len(gone) == 0 {
		return nil
	}
	if len(gone) > 0 {
		s.note("left out of the history, as their records are gone from %s: %s", s.folder(), some(gone))
	}
	return inTransaction(x.DB, func(tx *sql.Tx) error {
		if x.shared {
			if err := lockShared(tx); err != nil {
				return err
			}
		}
		for _, e := range added {
			if err := e.insert(tx); err != nil {
				return err
			}
		}
		for _, name := range gone {
			if _, err := tx.Exec("DELETE FROM runs WHERE record = $1", name); err != nil {
				return err
			}
		}
		_, err := tx.Exec("DELETE FROM settings WHERE id NOT IN (SELECT setting FROM cases)")
		return err
	})
}

// records are the names of the files in the folder. Drafts that nobody finished go.
func (s *Store) records() (map[string]bool, error) {
	entries, err := os.ReadDir(s.folder())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	names := map[string]bool{}
	for _, f := range entries {
		switch name := f.Name(); {
		case files.IsDraft(name):
			if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > draftAge {
				os.Remove(filepath.Join(s.folder(), name)) // who could use it is gone
			}
		case !strings.HasPrefix(name, ".") && strings.HasSuffix(name, recordSuffix):
			names[name] = true
		}
	}
	return names, nil
}

// some are the first of a list.
func some(list []string) string {
	const most = 10
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

// column is the set of values of a query's only column.
func column(db queryer, query string, args ...any) (map[string]bool, error) {
	rows, err := db.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	values := map[string]bool{}
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		values[v] = true
	}
	return values, rows.Err()
}

func keys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// An entry is what the index says of a record.
type entry struct {
	record     string
	run        record.Run
	yardsticks string // JSON
	cases      []indexed
}

type indexed struct {
	result  record.CaseResult
	setting string // JSON of its facts
}

// entryOf reads a record and computes its figures.
func (s *Store) entryOf(name string) (entry, error) {
	rec, err := s.ReadRecord(name)
	if err != nil {
		return entry{}, err
	}
	res := s.Summarize(rec)
	e := entry{record: name, run: rec.Run}
	if e.run.Started, err = inUTC(rec.Run.Started); err != nil {
		return entry{}, fmt.Errorf("%s: %w", name, err)
	}
	yardsticks, err := json.Marshal(res.Yardsticks)
	if err != nil {
		return entry{}, err
	}
	e.yardsticks = string(yardsticks)
	for _, c := range res.Cases {
		facts, err := json.Marshal(setting(rec, c.Case))
		if err != nil {
			return entry{}, err
		}
		e.cases = append(e.cases, indexed{c, string(facts)})
	}
	return e, nil
}

// inUTC writes a time so that the order of texts is that of times.
func inUTC(started string) (string, error) {
	t, err := time.Parse(time.RFC3339, started)
	if err != nil {
		return "", fmt.Errorf("the record says no time: %w", err)
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z"), nil
}

// insert adds the entry, unless another moonlap has done so.
func (e entry) insert(tx *sql.Tx) error {
	run := e.run
	result, err := tx.Exec("INSERT INTO runs VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
		e.record, text(run.SavedAs), text(run.Kind), text(fileName(run.File)), run.Started, text(run.Environment.GitCommit), run.Environment.GitDirty, e.yardsticks)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return err
	}
	for number, c := range e.cases {
		id := hash([]byte(c.setting))
		if _, err := tx.Exec("INSERT INTO settings VALUES ($1, $2) ON CONFLICT DO NOTHING", id, c.setting); err != nil {
			return err
		}
		var ns, low, high any
		if d := c.result.NSPerCall; d != nil {
			ns, low, high = d.Estimate, d.Low, d.High
		}
		if _, err := tx.Exec("INSERT INTO cases VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
			e.record, number, text(c.result.Name), id, ns, low, high, c.result.Processes, c.result.Slowed()); err != nil {
			return err
		}
	}
	return nil
}

// text is what PostgreSQL takes for text: bytes that are 0 are none.
func text(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// fileName is a bench file without its folder, as the working folder is not always the same.
func fileName(file string) string {
	if file == "" {
		return ""
	}
	return filepath.Base(file)
}
