package heap

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/memory"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/worker"
)

// NewSnapshot has no heaps yet.
func NewSnapshot(at time.Time) *Snapshot {
	return &Snapshot{Schema: record.Schema, Kind: Kind, Time: at.Round(time.Second)}
}

// OfWorker is the heaps of a worker that runs. Errors say what to do.
func OfWorker(pid int, o Options) ([]Heap, error) {
	w, err := worker.Open(pid)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	all, err := Take(w, o)
	var long *process.PauseError
	if errors.As(err, &long) {
		const step = 50 * time.Millisecond // which people would type
		enough := (2*long.Needed + step - 1) / step * step
		err = fmt.Errorf("%w; --pause %v lets it stand still for so long, --pause 0 reads it while it runs", err, enough)
	}
	return all, withRemedy(err, o)
}

// OfCore is those of a core file, and when it was written; root has the program and its libraries, as they were in /.
func OfCore(file, root string, o Options) (*Snapshot, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	w, err := worker.OpenCore(file, root)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	s := NewSnapshot(info.ModTime())
	if s.Heaps, err = Take(w, o); err != nil {
		return nil, fmt.Errorf("%s: %w", file, withRemedy(err, o))
	}
	return s, nil
}

// withRemedy says what to do where there is too little memory.
func withRemedy(err error, o Options) error {
	var short *memory.ShortError
	switch {
	case !errors.As(err, &short):
		return err
	case short.Theirs:
		return fmt.Errorf("%w; nothing was copied: raise that limit, or wait until the worker has less in swap", err)
	case o.Spill != "":
		return fmt.Errorf("%w; --spill %s is in memory, too: choose a folder on a disk", err, o.Spill)
	}
	return fmt.Errorf("%w; --spill DIR keeps the copy in a file in DIR, on a disk, which takes little memory", err)
}

// ReadFile reads a snapshot.
func ReadFile(name string) (*Snapshot, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}
