package process

import (
	"fmt"
	"time"
)

// A Snapshot is the private memory of a process, copied.
type Snapshot struct {
	*Copy
	Registers Registers     // of the main thread; zero where it was not stopped
	Stopped   bool          // the process stood still: all of the copy is of one moment
	Pause     time.Duration // how long it stood still, at most
	Missing   int64         // bytes that could not be read
}

// A PauseError says that a copy takes longer than the process may stand still.
type PauseError struct {
	Bytes  int64         // to be copied
	Budget time.Duration // that was given
	Needed time.Duration // estimated
	Pause  time.Duration // how long the process stood still until the copy was given up; 0: not at all
}

func (e *PauseError) Error() string {
	if e.Pause > 0 {
		return fmt.Sprintf("the copy of its %d MB was given up after %v, the process goes on: it needs about %v",
			e.Bytes/1e6, e.Pause.Round(time.Millisecond), e.Needed.Round(time.Millisecond))
	}
	return fmt.Sprintf("to copy its %d MB takes about %v, longer than the %v it may stand still; it was not stopped",
		e.Bytes/1e6, e.Needed.Round(time.Millisecond), e.Budget)
}

// rehearsals is how often a copy is tried while the process runs, until one is quick enough.
const rehearsals = 3

// Snapshot copies the process's private memory while its main thread stands still, for no longer than
// the budget: beyond it the copy is given up with a PauseError. A rehearsal on the running process says
// whether it is enough before anything is stopped. With a budget of 0 the process is not stopped: the
// copy is then of no one moment. A core stands still by itself.
func (p *Process) Snapshot(budget time.Duration) (*Snapshot, error) {
	if p.Core != nil {
		return p.Core.snapshot()
	}
	var arena []byte
	var s *Snapshot
	needed := time.Duration(0)
	for n := range rehearsals {
		began := time.Now()
		spans, total, err := p.used()
		if err != nil {
			return nil, err
		}
		if room := total + total/8 + 4<<20; int64(len(arena)) < room {
			arena = touched(room)
			began = time.Now()
			p.used() // its time counts, that of making room does not
		}
		if s, err = p.read(spans, arena, func() bool { return true }); err != nil {
			return nil, err
		}
		if took := time.Since(began); n == 0 || took < needed {
			needed = took
		}
		if budget == 0 {
			return s, nil
		}
		if needed <= budget {
			break
		}
	}
	if needed > budget {
		return nil, &PauseError{Bytes: s.Size(), Budget: budget, Needed: needed}
	}
	over := false
	var total int64
	began := time.Now() // it may have to wait until the process stops
	pause, err := p.Stopped(func(registers Registers) error {
		var spans []span
		var err error
		if spans, total, err = p.used(); err != nil {
			return err
		}
		if total > int64(len(arena)) {
			return fmt.Errorf("its memory grew by more than an eighth while it was looked at: try again")
		}
		s, err = p.read(spans, arena, func() bool { over = time.Since(began) > budget; return !over })
		s.Registers, s.Stopped = registers, true
		return err
	})
	switch {
	case over && p.ended():
		return nil, fmt.Errorf("process %d has ended", p.PID)
	case over:
		return nil, &PauseError{Bytes: total, Budget: budget, Pause: pause, Needed: stillNeeded(needed, time.Since(began), s.Size(), total)}
	}
	if err != nil {
		return nil, err
	}
	s.Pause = pause
	return s, nil
}

// stillNeeded estimates how long a copy takes that was given up when so much of it was done; rehearsed is
// how long it took while the process ran. Where nothing was done, stopping the process took all of the time.
func stillNeeded(rehearsed, took time.Duration, done, total int64) time.Duration {
	if done == 0 {
		return took + rehearsed
	}
	return max(rehearsed, time.Duration(float64(took)*float64(total)/float64(done)))
}

// used lists the memory that is to be copied, as it is mapped now, and its size in bytes.
func (p *Process) used() (spans []span, total int64, err error) {
	if err := p.ReadMaps(); err != nil {
		return nil, 0, err
	}
	if spans, err = p.resident(); err != nil {
		return nil, 0, err
	}
	for _, s := range spans {
		total += s.size()
	}
	return spans, total, nil
}

// read copies spans into the arena, as long as more says so. What cannot be read any more is left out.
func (p *Process) read(spans []span, arena []byte, more func() bool) (*Snapshot, error) {
	const chunk = 4 << 20 // between two looks at the clock
	s := &Snapshot{}
	var parts []Part
	defer func() { s.Copy = NewCopy(parts) }()
	for _, span := range spans {
		part := Part{Address: span.from, Bytes: arena[:0:span.size()]}
		arena = arena[span.size():]
		for at := span.from; at < span.to && more(); {
			want := int(min(span.to-at, chunk))
			n, err := p.readChunk(part.Bytes[len(part.Bytes):len(part.Bytes)+want], at)
			part.Bytes = part.Bytes[:len(part.Bytes)+n]
			at += uint64(n)
			if err != nil && p.ended() {
				return s, fmt.Errorf("process %d has ended", p.PID)
			}
			if n == 0 {
				s.Missing += int64(span.to - at)
				break
			}
		}
		if len(part.Bytes) > 0 {
			parts = append(parts, part)
		}
	}
	return s, nil
}

// touched makes room whose pages are there: a copy must not have to wait for them.
func touched(size int64) []byte {
	b := make([]byte, size)
	for i := 0; i < len(b); i += pageSize {
		b[i] = 1
	}
	return b
}
