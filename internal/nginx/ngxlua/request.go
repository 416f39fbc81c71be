package ngxlua

import (
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/process"
)

// A Request is what a worker serves.
type Request struct {
	Address uint64
	Method  string // "" for a request that nginx made itself, as a timer has
	URI     string // as it is now, without arguments: rewritten by nginx and Lua
	Unread  bool   // its texts were not copied when it was seen, and are not told from another's now
}

// requestLayout is where ngx_http_request_t keeps its texts; it depends on how nginx was built.
type requestLayout struct {
	uri   uint64 // offset of uri; 0: not found yet
	main  uint64 // of main; 0: not found yet
	pool  uint64 // of pool; 0: not found yet
	tried int
}

const (
	requestSignature = 0x50545448 // "HTTP", the first field of every request
	requestSize      = 0x600      // at most, up to the texts
	textSize         = 16         // ngx_str_t: length, pointer
	// From uri on there follow args, exten, unparsed_uri, method_name, http_protocol.
	methodAfterURI   = 4 * textSize
	protocolAfterURI = 5 * textSize
	maxText          = 2048
	// Before uri stand start_sec, start_msec, method, http_version, request_line.
	secondsBeforeURI = 0x30
	millisBeforeURI  = 0x28
	versionBeforeURI = 0x18
	// After http_protocol come schema, since nginx 1.21, out, main, parent.
	mainAfterURI = protocolAfterURI + textSize
	mainWords    = 5
)

// Request reads the request at an address, as the VM has it for its coroutine; ok is false
// where there is none.
func (m *Module) Request(memory process.Memory, address uint64) (request Request, ok bool) {
	r := &process.Reader{Memory: memory}
	if address == 0 || r.U32(address) != requestSignature || r.Err != nil {
		return Request{}, false
	}
	request.Address = address
	if m.requests.uri == 0 {
		m.requests.find(memory, address)
	}
	if at := m.requests.uri; at != 0 {
		if uri := text(memory, address+at); strings.HasPrefix(uri, "/") { // else the request has been given back
			request.URI = uri
		}
		if m := text(memory, address+at+methodAfterURI); isMethod(m) {
			request.Method = m
		}
	}
	return request, true
}

// LearnRequests finds where requests keep their texts from one that is in flight, so that the kernel
// copies them from the first look on. At most moments a worker is between two requests, so it tries for a
// while. Without any, it is learnt from the first that is seen.
func (m *Module) LearnRequests() {
	const tries, apart, most = 30, time.Millisecond, 60 * time.Millisecond
	began := time.Now()
	for range tries {
		if m.requests.uri != 0 || m.Nginx == nil || time.Since(began) > most {
			return
		}
		err := m.Nginx.EachConnection(func(_, data uint64, _ int) {
			if m.requests.uri == 0 {
				m.Request(m.Memory, data)
			}
		})
		if err != nil {
			return
		}
		time.Sleep(apart)
	}
}

// find looks for the sequence of texts that only a request has: a path, and at its distances a
// method and a protocol.
func (l *requestLayout) find(memory process.Memory, request uint64) {
	const enough = 100 // requests of timers have no texts: search seldom where there are only those
	if l.tried++; l.tried > enough && l.tried%enough != 0 {
		return
	}
	for at := uint64(8); at+protocolAfterURI < requestSize; at += 8 {
		if strings.HasPrefix(text(memory, request+at), "/") &&
			isMethod(text(memory, request+at+methodAfterURI)) &&
			strings.HasPrefix(text(memory, request+at+protocolAfterURI), "HTTP/") {
			l.uri = at
			return
		}
	}
}

func isMethod(s string) bool {
	return len(s) >= 3 && len(s) <= 32 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-") == ""
}

// text reads an ngx_str_t; what is none reads as "".
func text(memory process.Memory, at uint64) string {
	r := &process.Reader{Memory: memory}
	n, start := r.U64(at), r.U64(at+8)
	if r.Err != nil || n == 0 || n > maxText || start < 1<<12 {
		return ""
	}
	b := r.Bytes(start, int(n))
	if r.Err != nil {
		return ""
	}
	return string(b)
}

// started is when nginx read a request's first bytes, by its clock; ok is false where that is not
// known, as for requests that nginx made itself.
func (m *Module) started(request uint64) (at time.Time, ok bool) {
	uri := m.requests.uri
	if uri == 0 {
		return at, false
	}
	r := m.reader()
	seconds, millis := r.U64(request+uri-secondsBeforeURI), r.U64(request+uri-millisBeforeURI)
	version := r.U64(request + uri - versionBeforeURI)
	if r.Err != nil || seconds == 0 || seconds >= 1<<40 || millis >= 1000 || version > 10_000 {
		return at, false
	}
	return time.Unix(int64(seconds), int64(millis)*int64(time.Millisecond)), true
}

// mainRequest is the request that a subrequest is part of, or the request itself. A main request's
// main is itself, and it has no parent.
func (m *Module) mainRequest(request uint64) uint64 {
	uri := m.requests.uri
	if uri == 0 {
		m.requests.find(m.Memory, request)
		if uri = m.requests.uri; uri == 0 {
			return request
		}
	}
	r := m.reader()
	for i := uint64(0); m.requests.main == 0 && i < mainWords; i++ {
		if at := uri + mainAfterURI + 8*i; r.U64(request+at) == request && r.U64(request+at+8) == 0 {
			m.requests.main = at
		}
	}
	if m.requests.main != 0 {
		if main := r.U64(request + m.requests.main); r.U32(main) == requestSignature && r.Err == nil {
			return main
		}
	}
	return request
}

// RequestOf says which request a coroutine was made for, "" where that is not known, or has ended: its memory
// may be another one's by then.
func (m *Module) RequestOf(memory process.Memory, coroutine uint64) string {
	vm := *m.VM
	vm.Memory = memory
	address, err := vm.Request(coroutine)
	r := &process.Reader{Memory: memory}
	connection := r.U64(address + requestConnection)
	served := r.U64(connection) // a request, or what keeps an idle connection
	if err != nil || r.U32(served) != requestSignature || r.U64(served+requestConnection) != connection || r.Err != nil {
		return ""
	}
	if request, ok := m.Request(memory, address); ok && request.URI != "" {
		return request.Method + " " + request.URI
	}
	return ""
}
