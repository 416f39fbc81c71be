package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/record"
)

// A Draft collects the lines of a run that may be kept, compressed, in memory.
type Draft struct {
	run    record.Run
	packed bytes.Buffer
	zip    *gzip.Writer
	to     *record.Writer
}

// NewDraft returns an empty draft.
func NewDraft() *Draft {
	d := &Draft{}
	d.zip = gzip.NewWriter(&d.packed)
	d.to = record.NewWriter(d.zip)
	return d
}

// Write appends a line.
func (d *Draft) Write(l record.Line) error {
	if run, ok := l.(record.Run); ok {
		d.run = run
	}
	return d.to.Write(l)
}

// Keep puts a whole run into the store and returns the path of its record. What can't be
// written into the store's folder goes to the folder for temporary files, and the error
// says so; when only the index fails, the record is kept and enters it later.
func (s *Store) Keep(ctx context.Context, d *Draft) (path string, err error) {
	if err := d.zip.Close(); err != nil {
		return "", err
	}
	started, err := inUTC(d.run.Started)
	if err != nil {
		return "", err
	}
	packed := d.packed.Bytes()
	name := started[:len("2006-01-02")] + "-" + hash(packed) + recordSuffix
	path = filepath.Join(s.folder(), name)
	if s.Remote != nil { // which gets it when the index is opened, now or later
		path = filepath.Join(s.unsent(), name)
	}
	if err := s.write(path, packed); err != nil {
		return s.rescue(packed, err)
	}
	db, err := s.open(ctx)
	if err != nil {
		return path, fmt.Errorf("%w. Nothing is lost: the run's record is %s, and enters the history when it can be written", err, path)
	}
	return path, s.fault(db.Close())
}

// write makes the file path at once or not at all.
func (s *Store) write(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return files.Write(path, b, files.Shared)
}

// rescue saves a record that the store has no place for.
func (s *Store) rescue(packed []byte, why error) (string, error) {
	why = s.fault(why)
	f, err := os.CreateTemp("", "moonlap-record-*"+recordSuffix)
	if err != nil {
		return "", errors.Join(why, fmt.Errorf("the run's record is lost: %w", err))
	}
	_, err = f.Write(packed)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", errors.Join(why, fmt.Errorf("the run's record is lost: %w", err))
	}
	return f.Name(), fmt.Errorf("%w. Nothing is lost: the run's record is %s; moved into %s, it enters the history", why, f.Name(), s.folder())
}

// hash names contents by 16 hexadecimal digits.
func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}
