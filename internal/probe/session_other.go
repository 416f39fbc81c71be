//go:build !linux || !amd64

package probe

import (
	"fmt"
	"time"
)

// Elsewhere there is none of it.

type (
	// A Session is the programs, loaded into the kernel.
	Session struct{}
	// A Source is the snapshots of one worker.
	Source struct{}
)

var errElsewhere = fmt.Errorf("%w: moonlap has programs for Linux on x86-64 only", ErrUnsupported)

// Open fails.
func Open() (*Session, error) { return nil, errElsewhere }

// Check reports that it fails.
func Check() []Checked { return []Checked{{"sample through eBPF", errElsewhere}} }

// Gaps is 0.
func Gaps() time.Duration { return 0 }

// Close does nothing.
func (s *Session) Close() error { return nil }

// Attach fails.
func (s *Session) Attach(Target, float64) (*Source, error) { return nil, errElsewhere }

// Snapshots is nil.
func (s *Source) Snapshots() <-chan *Snapshot { return nil }

// SetExit does nothing.
func (s *Source) SetExit(uint64) error { return nil }

// Settled does nothing.
func (s *Source) Settled() error { return nil }

// SetURI does nothing.
func (s *Source) SetURI(uint64) error { return nil }

// Lost is 0.
func (s *Source) Lost() (uint64, error) { return 0, nil }

// Sleeps fails.
func (s *Source) Sleeps(time.Duration, Whereabouts) error { return errElsewhere }

// Prompt is true.
func Prompt() bool { return true }

// Now is 0.
func Now() time.Duration { return 0 }

// Rest fails.
func (s *Source) Rest() (Rest, error) { return Rest{}, errElsewhere }

// Threads does nothing.
func (s *Source) Threads() error { return nil }

// Detach does nothing.
func (s *Source) Detach() {}
