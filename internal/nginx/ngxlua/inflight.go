package ngxlua

import (
	"cmp"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/profile"
)

// InFlight is a request that a worker has begun and not finished.
type InFlight struct {
	Method  string         `json:"method,omitempty"`
	URI     string         `json:"uri,omitempty"`      // "": its head is being read, or it is a timer's
	Age     time.Duration  `json:"age_ns"`             // since nginx read its first bytes, to a millisecond; 0: not known
	Began   time.Time      `json:"-"`                  // by nginx's clock; zero: not known
	Phase   string         `json:"phase,omitempty"`    // whose Lua runs or waits: access, content, timer, …
	Running bool           `json:"running"`            // Lua runs for it right now
	Waits   string         `json:"waits_in,omitempty"` // the function that Lua waits in: nginx.sleep
	Lua     *profile.Frame `json:"lua,omitempty"`      // the innermost Lua function, at the line where it waits

	Timer   *profile.Frame `json:"timer,omitempty"`    // the function that nginx.timer has called; nil: it is none, or that is not known
	Threads *Thread        `json:"threads,omitempty"`  // the entry coroutine and what it has begun; nil: it has begun nothing
	Tries   []Try          `json:"upstream,omitempty"` // at upstream servers, the one that goes on last
}

// InFlight reads the requests that the worker has begun and not finished, the oldest first. It looks
// at each connection, at the streams of those of HTTP/2, and at each coroutine that OpenResty keeps.
func (m *Module) InFlight() ([]InFlight, error) {
	now := time.Now()
	if m.Still {
		now = time.Time{} // a core does not tell when it was written: no ages
	}
	seen := map[uint64]bool{}
	coroutines := m.VM.Coroutines()
	registered := map[uint64]bool{}
	for _, co := range coroutines {
		registered[co] = true
	}
	threads := mostThreads
	var all []InFlight
	add := func(request uint64, there func() bool) {
		if request = m.mainRequest(request); seen[request] {
			return
		}
		const tries = 3 // the worker goes on meanwhile: a request may end, or its Lua wake up
		for try := 1; ; try++ {
			f, sure := m.inFlight(request, now)
			if !there() {
				return
			}
			if sure || try == tries {
				seen[request] = true
				if f.Threads = m.threads(request, registered, &threads); f.Threads != nil && f.Phase == "" {
					f.Phase = m.PhaseIn(m.Memory, request) // its entry coroutine has ended, and waits for the others
				}
				all = append(all, f)
				return
			}
		}
	}
	err := m.Nginx.EachConnection(func(connection, data uint64, _ int) {
		serves := func() bool {
			r := m.reader()
			return r.U32(data) == requestSignature && r.U64(data+requestConnection) == connection && r.Err == nil
		}
		if serves() {
			add(data, serves)
			return
		}
		m.Nginx.EachStream(connection, data, add)
	})
	for _, co := range coroutines {
		request, err := m.VM.Request(co)
		waits := func() bool {
			now, err := m.VM.Request(co)
			return err == nil && now == request && m.VM.Waits(co)
		}
		if _, ok := m.Request(m.Memory, request); ok && err == nil && waits() {
			add(request, waits)
		}
	}
	slices.SortStableFunc(all, func(a, b InFlight) int { return cmp.Compare(b.Age, a.Age) })
	return all, err
}

// inFlight describes a request. sure is false where its Lua neither runs nor waits: it was about to
// do one or the other, or it has ended.
func (m *Module) inFlight(address uint64, now time.Time) (f InFlight, sure bool) {
	request, _ := m.Request(m.Memory, address)
	f = InFlight{Method: request.Method, URI: request.URI}
	if start, ok := m.started(address); ok {
		f.Began, f.Age = start, max(0, now.Sub(start))
	}
	f.Tries = m.tries(address)
	co, ok := m.coroutine(address)
	if !ok {
		return f, true
	}
	if status, err := m.VM.Status(); err == nil && status.Running && status.Current == co {
		f.Running, f.Phase = true, m.PhaseIn(m.Memory, address)
		return f, true
	}
	frames, err := m.VM.Suspended(co)
	if err != nil {
		return f, false
	}
	f.Phase = m.PhaseIn(m.Memory, address)
	f.Waits, f.Lua = m.waitsAt(frames)
	if f.Phase == "timer" {
		f.Timer = m.timerFunction(address, co, frames)
	}
	return f, true
}
