package process

import (
	"fmt"
	"time"

	"github.com/moonlap/moonlap/internal/memory"
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

// SnapshotOptions say what a copy may cost.
type SnapshotOptions struct {
	Pause time.Duration // how long the process may stand still; 0: not at all
	Space *memory.Space // where the copy lies, until it is closed
	Extra int64         // bytes of the same space that looking at the copy takes, which have to be there, too
}

// indexShare is how many bytes of a copy take one of the index of its objects (internal/luajit).
const indexShare = 32

// Snapshot copies the process's private memory while its main thread stands still, for no longer than
// it may: beyond that the copy is given up with a PauseError. A rehearsal on the running process says
// whether it is enough before anything is stopped. With a pause of 0 the process is not stopped: the
// copy is then of no one moment. A core stands still by itself, and is not copied but mapped.
// Where the space is too small for the copy nothing is read, and the error is the space's.
func (p *Process) Snapshot(o SnapshotOptions) (s *Snapshot, err error) {
	err = memory.Run(func() (err error) {
		if p.Core != nil {
			s, err = p.Core.snapshot(o)
			return err
		}
		s, err = p.snapshot(o)
		return err
	})
	return s, err
}

func (p *Process) snapshot(o SnapshotOptions) (*Snapshot, error) {
	s, arena, needed, err := p.rehearse(o)
	if err != nil || o.Pause == 0 {
		return s, err
	}
	if needed > o.Pause {
		return nil, &PauseError{Bytes: s.Size(), Budget: o.Pause, Needed: needed}
	}
	return p.copyStopped(o, s, arena, needed)
}

// rehearse copies the memory of the running process, and says how long that takes at least. The arena has room for the next copy.
func (p *Process) rehearse(o SnapshotOptions) (s *Snapshot, arena []byte, needed time.Duration, err error) {
	for n := range rehearsals {
		began := time.Now()
		u, err := p.used(always)
		if err != nil {
			return nil, nil, 0, err
		}
		if room := u.size + u.size/8 + 4<<20; int64(len(arena)) < room {
			memory.Release(o.Space, arena)
			if err := o.Space.CheckAll(room+room/indexShare+o.Extra, u.swapped); err != nil {
				return nil, nil, 0, err
			}
			arena = memory.Long[byte](o.Space, int(room))
			memory.Scattered(o.Space, arena) // who reads it says what comes next
			began = time.Now()
			p.used(always) // its time counts, that of making room does not
		}
		if s, err = p.read(u.spans, arena, o.Space, always); err != nil {
			return nil, nil, 0, err
		}
		if took := time.Since(began); n == 0 || took < needed {
			needed = took
		}
		const hopeless = 20 // times too slow: another rehearsal would be so, too
		if o.Pause == 0 || needed <= o.Pause || needed > hopeless*o.Pause {
			break
		}
	}
	return s, arena, needed, nil
}

// copyStopped copies the memory into the arena while the process stands still, for no longer than the pause. s is the copy of a
// rehearsal, which has needed that time.
func (p *Process) copyStopped(o SnapshotOptions, s *Snapshot, arena []byte, needed time.Duration) (*Snapshot, error) {
	over := false
	var total int64
	var began time.Time // none of it counts before the process stands
	more := func() bool { over = over || time.Since(began) > o.Pause; return !over }
	pause, err := p.Stopped(o.Pause, func(registers Registers) error {
		began = time.Now()
		u, err := p.used(more)
		if err != nil || over {
			return err
		}
		if total = u.size; total > int64(len(arena)) {
			return fmt.Errorf("its memory grew by more than an eighth while it was looked at: try again")
		}
		s, err = p.read(u.spans, arena, o.Space, more)
		over = over || p.goesOn() // the last piece came too late
		s.Registers, s.Stopped = registers, true
		return err
	})
	switch {
	case over && p.Ended():
		return nil, fmt.Errorf("process %d has ended", p.PID)
	case over:
		total = max(total, s.Size()) // the list of its pages may not have been done
		return nil, &PauseError{Bytes: total, Budget: o.Pause, Pause: pause, Needed: stillNeeded(needed, time.Since(began), s.Size(), total)}
	}
	if err != nil {
		return nil, err
	}
	s.Pause = pause
	return s, nil
}

func always() bool { return true }

// stillNeeded estimates how long a copy takes that was given up when so much of it was done; rehearsed is
// how long it took while the process ran. Where nothing was done, stopping the process took all of the time.
func stillNeeded(rehearsed, took time.Duration, done, total int64) time.Duration {
	if done == 0 {
		return took + rehearsed
	}
	return max(rehearsed, time.Duration(float64(took)*float64(total)/float64(done)))
}

// A usage is the memory that is to be copied, as it is mapped at a moment.
type usage struct {
	spans   []span
	size    int64 // bytes of them
	swapped int64 // of those, bytes that the kernel has in swap: to read them takes memory of the process's
}

// used lists the memory that is to be copied, as long as more says so.
func (p *Process) used(more func() bool) (u usage, err error) {
	if err := p.ReadMaps(); err != nil {
		return u, err
	}
	if u, err = p.resident(more); err != nil {
		return u, err
	}
	for _, s := range u.spans {
		u.size += s.size()
	}
	return u, nil
}

// read copies spans into the arena, as long as more says so. What cannot be read any more is left out.
func (p *Process) read(spans []span, arena []byte, space *memory.Space, more func() bool) (*Snapshot, error) {
	const chunk = 4 << 20 // between two looks at the clock
	s := &Snapshot{}
	var parts []Part
	defer func() { s.Copy = NewCopy(parts) }()
	done := 0
	for _, span := range spans {
		end := done + int(span.size())
		part := Part{Address: span.from, Bytes: arena[done:done:end]}
		for at := span.from; at < span.to && more(); {
			want := int(min(span.to-at, chunk))
			n, err := space.Fill(arena, done, done+want, func(into []byte) (int, error) { return p.readChunk(into, at) })
			part.Bytes = part.Bytes[:len(part.Bytes)+n]
			at, done = at+uint64(n), done+n
			if err != nil && p.Ended() {
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
		done = end
	}
	return s, nil
}
