package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/files"
)

// A Remote is where a team keeps the records, of which Store.Records is a copy. Records have names by their contents and never change,
// so writers do not meet but where they add at the same moment.
type Remote interface {
	// Fetch makes the copy what is there.
	Fetch(ctx context.Context) error
	// Send adds records of the copy to what is there, and removes others.
	Send(ctx context.Context, add, remove []string) error
}

// unsent is the folder of records that the remote does not have yet.
func (s *Store) unsent() string { return filepath.Join(filepath.Dir(s.Path), "unsent") }

// await lets one moonlap at a time use the copy on this machine.
func (s *Store) await(ctx context.Context) (release func(), err error) {
	if s.Remote == nil {
		return func() {}, nil
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(filepath.Dir(s.Path), "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for err = unix.EWOULDBLOCK; err != nil; {
		if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == unix.EWOULDBLOCK {
			select { // another one may wait for a server
			case <-time.After(50 * time.Millisecond):
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != nil {
			lock.Close()
			return nil, err
		}
	}
	return func() { lock.Close() }, nil
}

// exchange brings the copy in line with the remote, which gets what waits for it, and reports whether it was reached. One that cannot be reached is no error: what
// was fetched before is shown, and what was measured waits. The lock of await is held.
func (s *Store) exchange(ctx context.Context) (reached bool, err error) {
	if s.Remote == nil {
		return true, nil
	}
	away := s.Remote.Fetch(ctx)
	waiting, err := os.ReadDir(s.unsent())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	var names []string
	for _, f := range waiting {
		if files.IsDraft(f.Name()) {
			continue
		}
		packed, err := os.ReadFile(filepath.Join(s.unsent(), f.Name()))
		if err == nil {
			err = s.write(filepath.Join(s.folder(), f.Name()), packed)
		}
		if err != nil {
			return false, err
		}
		names = append(names, f.Name())
	}
	if away == nil && len(names) > 0 {
		away = s.Remote.Send(ctx, names, nil)
	}
	if away != nil && ctx.Err() != nil {
		return false, ctx.Err()
	}
	if away != nil {
		s.note("%s: %v. What was there before is shown%s", s.Place, away, waitingText(len(names)))
		return false, nil
	}
	err = nil
	for _, name := range names {
		err = errors.Join(err, os.Remove(filepath.Join(s.unsent(), name)))
	}
	return err == nil, err
}

func waitingText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of this machine's records wait until it can be reached", n)
}
