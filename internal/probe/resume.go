package probe

import (
	"encoding/binary"
	"fmt"
	"time"
)

// A ResumeFunction is one that runs Lua for a request, and where a probe in it sits.
type ResumeFunction struct {
	Offset uint64 // in the file
	Given  Given
	Phase  int // the bit that its phase has in the Lua module's context of a request; for GivenThread the kernel reads it there
}

// Given is how a function has its arguments: enum given in resume.h.
type Given uint8

// Ways.
const (
	GivenThread  Given = 0 // as ngx_http_lua_run_thread: machine, request, context
	GivenChunk   Given = 1 // machine with the function to be called on top, request
	GivenHandler Given = 2 // request
)

// ResumeTarget is the functions that run Lua in a worker.
type ResumeTarget struct {
	PID       int
	Program   string // path of the file that has them
	Functions []ResumeFunction
	PhaseSize int // bytes that the phase has in the Lua module's context of a request
}

// PhaseResumes is what became of the resumes of one phase. A resume is from nginx's call to its return.
type PhaseResumes struct {
	Phase uint32    // the bit, set; 0: not known
	Own   Durations // without other resumes that began within
	Whole Durations // with them
	Waits Durations // of requests, between two resumes
	Began int       // resumes that did not go on with what had waited

	Queued time.Duration // of Own: the thread would have run, and had no processor
}

// A Resume is one that took longer than most.
type Resume struct {
	Start      time.Duration // since the machine started
	Whole, Own time.Duration
	Request    uint64 // its address; 0: none
	Queued     time.Duration
	Code       uint64 // first instruction of the Lua function that it began with, or went on in; 0: not known
	At         uint64 // the instruction in that; 0: it began
	Phase      uint32 // as in PhaseResumes
	Begins     bool   // it did not go on with what had waited
	Pauses     bool   // it goes on later
	Coroutine  uint64 // that waits then; 0: not known
}

// ResumeCost is what it took to know.
type ResumeCost struct {
	Traps uint64        // into the kernel
	Looks time.Duration // that telling of long resumes took
	Lost  uint64        // resumes that were nested too deep, or could not be reported
}

const resumeSize = 64 // of struct run

// decodeResume reads a struct run of resume.h.
func decodeResume(b []byte) (*Resume, error) {
	if len(b) < resumeSize {
		return nil, fmt.Errorf("%w: a resume of %d bytes", errSnapshot, len(b))
	}
	const begins, pauses = 1, 2
	le := binary.LittleEndian
	at := func(i int) time.Duration { return time.Duration(le.Uint64(b[8*i:])) }
	flags := le.Uint32(b[60:])
	return &Resume{
		Start: at(0), Whole: at(1), Own: at(2), Queued: at(3), Request: uint64(at(4)), Code: uint64(at(5)), At: uint64(at(6)),
		Phase: le.Uint32(b[56:]), Begins: flags&begins != 0, Pauses: flags&pauses != 0,
	}, nil
}
