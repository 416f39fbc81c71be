package resumes

import (
	"encoding/binary"
	"time"

	"github.com/moonlap/moonlap/internal/probe"
)

// A timer times resumes of one worker in the kernel, and the waits between two resumes for a request, while it is attached. Each
// resume then traps into the kernel twice.
type timer interface {
	Attach() error
	Detach()
	Each() time.Duration    // what timing one resume costs the worker
	Cost() (spent, error)   // until now
	Read() ([]Phase, error) // each phase that Lua ran in, without its rate
}

// A target is the functions that run Lua in a worker.
type target struct {
	pid       int
	file      string // that has them
	functions []function
	phaseSize int // bytes that the phase has in the Lua module's context of a request
}

// A function runs Lua for a request; a probe sits in it.
type function struct {
	offset uint64 // in the file
	given  given
	phase  int // the bit that its phase has in the Lua module's context of a request; for ofThread the kernel reads it there
}

// given is how a function has its arguments: enum given in resume.h.
type given uint8

const (
	ofThread  given = iota // as ngx_http_lua_run_thread: VM, request, context
	ofChunk                // VM with the function to be called on top, request
	ofHandler              // request
)

// spent is what timing took.
type spent struct {
	traps uint64        // into the kernel
	looks time.Duration // that reporting long resumes took
	lost  uint64        // resumes that were nested too deep, or could not be reported
}

// resumed is the kind of a snapshot that has a run: see resume.h.
const resumed probe.Kind = 17

// A run is a resume that took longer than most, as struct run of resume.h.
type run struct {
	Start, Whole, Own, NoCPU time.Duration // Start: since the machine started
	Request                  uint64        // its address; 0: none
	Code                     uint64        // first instruction of the Lua function that it began with, or went on in; 0: not known
	At                       uint64        // the instruction in that; 0: it began
	Phase, Flags             uint32        // Phase: the bit, set; 0: not known
}

// Flags of a run.
const (
	begins = 1 // it did not go on with what had waited
	pauses = 2 // it goes on later
)

// runOf is the run of a snapshot.
func runOf(m *probe.Snapshot) (r run, err error) {
	_, err = binary.Decode(m.Own, binary.LittleEndian, &r)
	return r, err
}
