package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Rebuild makes the index again from the records, their figures computed anew, and tells
// how many runs it holds. A damaged index is moved aside; one of a newer moonlap or of
// another program is left alone.
func (s *Store) Rebuild(ctx context.Context) (runs int, err error) {
	if err := s.exists(); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil {
		return 0, s.fault(err)
	}
	release, err := s.await(ctx)
	if err != nil {
		return 0, s.fault(err)
	}
	defer release()
	reached, err := s.exchange(ctx)
	if err != nil {
		return 0, s.fault(err)
	}
	db, err := s.connect()
	var fault *Fault
	if errors.As(s.fault(err), &fault) && fault.damaged {
		if err := s.moveAside(); err != nil {
			return 0, s.fault(err)
		}
		db, err = s.connect()
	}
	if err != nil {
		return 0, s.fault(err)
	}
	defer db.Close()
	if err := inTransaction(db, create); err != nil {
		return 0, s.fault(err)
	}
	if err := s.sync(ctx, &index{DB: db}); err != nil {
		return 0, s.fault(err)
	}
	if s.index != nil && reached {
		if err := s.rebuildShared(ctx); err != nil {
			return 0, err
		}
	}
	err = db.QueryRow("SELECT count(*) FROM runs").Scan(&runs)
	return runs, s.fault(err)
}

// moveAside keeps the file, as it may be another's, and its journal, which belongs to it.
func (s *Store) moveAside() error {
	aside := s.Path + ".damaged"
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); os.IsNotExist(err) {
			break
		}
		aside = fmt.Sprintf("%s.damaged-%d", s.Path, n)
	}
	if err := os.Rename(s.Path, aside); err != nil {
		return err
	}
	s.note("the damaged index is now %s", aside)
	if err := os.Rename(s.Path+"-journal", aside+"-journal"); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}
