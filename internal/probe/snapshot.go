package probe

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/process"
)

// Kind is what made a snapshot.
type Kind uint16

// Kinds, as in moment.h.
const (
	OnCPU   Kind = 1 // a tick of the thread's CPU clock
	Blocked Kind = 2 // it is put to sleep: see Snapshot.Call
	Back    Kind = 3 // it runs again after that, Value ns later: see Snapshot.Slept, Queued
	Turn    Kind = 4 // a turn of the event loop has ended, after Value ns
	// from 16 on: those of kinds of evidence
)

// Flags and kinds of chunks, as in moment.h.
const (
	inThread = 1
	cut      = 2

	chunkStack     = 1
	chunkCoroutine = 2
	chunkFrame     = 3
	chunkKernel    = 4
	chunkTimes     = 5
	chunkReturns   = 16
	chunkOwn       = 17

	headSize  = 120
	chunkSize = 16
)

// A Snapshot is what the kernel saw of a thread: its registers, and a copy of what walking its stacks
// takes.
type Snapshot struct {
	Kind      Kind
	Thread    int           // its ID, as the kernel has it in its outermost namespace
	Main      bool          // it is the process's main thread, which runs Lua
	Cut       bool          // the stacks were too large to be copied whole
	Time      time.Duration // since the machine started, CLOCK_MONOTONIC
	Value     uint64        // what it says depends on Kind
	Unread    int           // reads that the kernel could not do: memory is paged out, or addresses are garbage
	Registers process.Registers
	Kernel    []uint64 // addresses in the kernel, innermost first; none: it ran its own code

	// Of the time that Back and Turn tell: it slept, it could have run but had no processor; and how many
	// events a turn served.
	Slept, Queued time.Duration
	Events        int

	Own       []byte // what a kind of evidence has to say besides
	Coroutine uint64 // address of the coroutine whose frames were copied last; 0: none

	chunks []chunk            // sorted by address
	absent []process.Interval // that the walk would read next, and which no later reading can replace
}

// A chunk is memory as it was.
type chunk struct {
	address uint64
	bytes   []byte
}

// Call is the number of the system call that a thread is Blocked in; -1: in none, as in a page fault.
func (m *Snapshot) Call() int { return int(int32(m.Value)) }

// State is the kernel's state of a thread that is Blocked, as bits: 1 interruptible, 2 not; and others.
func (m *Snapshot) State() uint32 { return uint32(m.Value >> 32) }

var errSnapshot = errors.New("a snapshot from the kernel makes no sense")

// workerOf is the number of the worker that a snapshot is of; -1 where it is none.
func workerOf(b []byte) int {
	if len(b) < headSize {
		return -1
	}
	return int(binary.LittleEndian.Uint32(b[8:]))
}

// decode reads what the kernel wrote (moment.h). stack is the offset of a coroutine's stack.
func decode(b []byte, stack uint64) (*Snapshot, error) {
	if len(b) < headSize {
		return nil, fmt.Errorf("%w: %d bytes", errSnapshot, len(b))
	}
	le := binary.LittleEndian
	m := &Snapshot{
		Kind: Kind(le.Uint16(b[4:])), Thread: int(le.Uint32(b[12:])),
		Time: time.Duration(le.Uint64(b[16:])), Value: le.Uint64(b[24:]), Unread: int(le.Uint32(b[32:])),
	}
	flags := le.Uint16(b[6:])
	m.Main, m.Cut = flags&inThread == 0, flags&cut != 0
	r := &m.Registers
	for i, to := range []*uint64{&r.RIP, &r.RSP, &r.RBP, &r.RBX, &r.RDX, &r.R12, &r.R13, &r.R14, &r.R15, &r.RDI} {
		*to = le.Uint64(b[40+8*i:])
	}
	chunks := b[headSize:]
	return m, m.decodeChunks(chunks[:min(le.Uint32(b), uint32(len(chunks)))], stack)
}

func (m *Snapshot) decodeChunks(b []byte, stack uint64) error {
	le := binary.LittleEndian
	var returns []byte
	for len(b) > 0 {
		if len(b) < chunkSize || uint64(le.Uint32(b[8:])) > uint64(len(b)-chunkSize) {
			return fmt.Errorf("%w: a chunk at its end", errSnapshot)
		}
		c := chunk{le.Uint64(b), b[chunkSize:][:le.Uint32(b[8:])]}
		what := le.Uint32(b[12:])
		b = b[min(len(b), chunkSize+(len(c.bytes)+7)&^7):]
		switch what {
		case chunkKernel:
			for at := 0; at+8 <= len(c.bytes); at += 8 {
				m.Kernel = append(m.Kernel, le.Uint64(c.bytes[at:]))
			}
			continue
		case chunkTimes:
			if len(c.bytes) < 24 {
				return fmt.Errorf("%w: times of %d bytes", errSnapshot, len(c.bytes))
			}
			m.Slept, m.Queued = time.Duration(le.Uint64(c.bytes)), time.Duration(le.Uint64(c.bytes[8:]))
			m.Events = int(le.Uint64(c.bytes[16:]))
			continue
		case chunkReturns:
			returns = c.bytes
			continue
		case chunkOwn:
			m.Own = c.bytes
			continue
		case chunkStack: // beyond it are other memory and later snapshots
			const reach = 1 << 20
			end := c.address + uint64(len(c.bytes))
			m.absent = append(m.absent, process.Interval{From: end, To: end + reach})
		case chunkCoroutine:
			if stack+8 > uint64(len(c.bytes)) {
				return fmt.Errorf("%w: a coroutine of %d bytes", errSnapshot, len(c.bytes))
			}
			m.Coroutine = c.address
			bottom := le.Uint64(c.bytes[stack:])
			m.absent = append(m.absent, process.Interval{From: bottom, To: bottom})
		case chunkFrame: // what lies between it and the bottom has not been copied yet
			if n := len(m.absent); n > 0 {
				m.absent[n-1].To = c.address
			}
		}
		m.chunks = append(m.chunks, c)
	}
	m.restore(returns)
	slices.SortStableFunc(m.chunks, func(a, b chunk) int { return cmp.Compare(a.address, b.address) })
	return nil
}

// Over is the process's memory as it was then, as far as it was copied; the rest, which has
// to be what does not change as the process goes on, is read now. Stacks that were too large to be
// copied whole end in process.ErrLeftOut.
func (m *Snapshot) Over(live process.Memory) process.Memory { return &overlay{m, live} }

// Alone is what was copied, and nothing else: for what changes as the process goes on.
func (m *Snapshot) Alone() process.Memory { return &overlay{m, nowhere{}} }

// nowhere has no memory at all.
type nowhere struct{}

// ReadAt implements process.Memory.
func (nowhere) ReadAt([]byte, uint64) error { return process.ErrLeftOut }

// Copied reports whether the snapshot has the byte at an address, so that it need not be read of the process, which has
// gone on.
func (m *Snapshot) Copied(address uint64) bool {
	i, found := slices.BinarySearchFunc(m.chunks, address, func(c chunk, a uint64) int { return cmp.Compare(c.address, a) })
	return found || i > 0 && address-m.chunks[i-1].address < uint64(len(m.chunks[i-1].bytes))
}

type overlay struct {
	*Snapshot
	live process.Memory
}

// Now is the memory as it is now, not as it was then; where the process has ended, as it was read last.
func (o *overlay) Now() process.Memory {
	if p, ok := o.live.(interface{ Fresh() process.Memory }); ok {
		return latest{p.Fresh(), o.live}
	}
	return o.live
}

// latest is memory as it is now, or else as it was kept.
type latest struct{ now, kept process.Memory }

// ReadAt implements process.Memory.
func (l latest) ReadAt(b []byte, address uint64) error {
	if l.now.ReadAt(b, address) == nil {
		return nil
	}
	return l.kept.ReadAt(b, address)
}

// ReadAt implements process.Memory.
func (o *overlay) ReadAt(b []byte, address uint64) error {
	i, found := slices.BinarySearchFunc(o.chunks, address, func(c chunk, a uint64) int { return cmp.Compare(c.address, a) })
	if !found {
		i--
	}
	// Neighbouring frames overlap by a slot or two.
	const overlapping = 4
	for _, c := range slices.Backward(o.chunks[max(0, i+1-overlapping) : i+1]) {
		if at := address - c.address; at < uint64(len(c.bytes)) && uint64(len(b)) <= uint64(len(c.bytes))-at {
			copy(b, c.bytes[at:])
			return nil
		}
	}
	for _, a := range o.absent {
		if a.Contains(address) {
			return process.ErrLeftOut
		}
	}
	return o.live.ReadAt(b, address)
}
