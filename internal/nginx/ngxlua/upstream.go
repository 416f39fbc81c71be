package ngxlua

import (
	"net/netip"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/process"
)

// A Try is one of a request's attempts to have an answer of an upstream server: proxy_pass, fastcgi_pass and the like.
// Times are nginx's, whole milliseconds; nil: it has not come to that.
type Try struct {
	Peer    string         `json:"peer"`                  // 127.0.0.1:8080, unix:/run/app.sock
	Status  int            `json:"status,omitempty"`      // of the answer, or what nginx makes of its failure; 0: none yet
	Connect *time.Duration `json:"connect_ns,omitempty"`  // from its beginning on until it was connected
	Header  *time.Duration `json:"header_ns,omitempty"`   // until the head of the answer was there
	Total   *time.Duration `json:"response_ns,omitempty"` // until it was over
}

const (
	poolHead = 0x50 // of an ngx_pool_t: a request is the first that is taken of its pool

	// In ngx_http_request_t stand cache (in some builds), upstream, upstream_states, pool.
	poolFirst, poolLast = 0x40, 0x70
	statesBeforePool    = 8

	// ngx_array_t: elts, nelts, size, nalloc, pool.
	arrayCount, arraySize, arrayPlaces, arrayPool = 0x08, 0x10, 0x18, 0x20

	// ngx_http_upstream_state_t begins with status, response_time, connect_time, header_time since nginx 1.9.1, and ends
	// with peer, a pointer to a text.
	stateResponse, stateConnect, stateHeader = 0x08, 0x10, 0x18
	stateLeast, stateMost                    = 0x30, 0x80
	mostUpstreams                            = 64
)

// tries are a main request's attempts, the one that goes on last; none where there are none, or nginx's structures are not
// those that are known. Those of subrequests are not among them.
func (m *Module) tries(request uint64) []Try {
	r := m.reader()
	for at := uint64(poolFirst); m.requests.pool == 0 && at <= poolLast; at += 8 {
		if r.U64(request+at) == request-poolHead {
			m.requests.pool = at
		}
	}
	pool := m.requests.pool
	if pool == 0 || r.U64(request+pool) != request-poolHead {
		return nil
	}
	states := r.U64(request + pool - statesBeforePool)
	if states == 0 || r.U64(states+arrayPool) != request-poolHead {
		return nil
	}
	count, size := r.U64(states+arrayCount), r.U64(states+arraySize)
	if count == 0 || count > min(mostUpstreams, r.U64(states+arrayPlaces)) || size < stateLeast || size > stateMost || size%8 != 0 || r.Err != nil {
		return nil
	}
	first := r.U64(states)
	var all []Try
	for i := range count {
		if t, ok := try(m.Memory, first+i*size, size); ok {
			all = append(all, t)
		}
	}
	return all
}

// try reads an ngx_http_upstream_state_t of a size; ok is false where its server is not chosen yet, or it is none.
func try(memory process.Memory, state, size uint64) (t Try, ok bool) {
	r := &process.Reader{Memory: memory}
	status := r.U64(state)
	if t.Peer = text(memory, r.U64(state+size-8)); !isPeer(t.Peer) || status > 999 {
		return t, false
	}
	t.Status = int(status)
	for _, f := range []struct {
		to *(*time.Duration)
		at uint64
	}{{&t.Connect, stateConnect}, {&t.Header, stateHeader}, {&t.Total, stateResponse}} {
		const longest = 30 * 24 * time.Hour
		switch ms := r.U64(state + f.at); {
		case ms == 1<<64-1:
		case ms > uint64(longest/time.Millisecond):
			return t, false
		default:
			d := time.Duration(ms) * time.Millisecond
			*f.to = &d
		}
	}
	return t, r.Err == nil
}

// isPeer reports whether a text is the address of a server, as nginx writes it.
func isPeer(s string) bool {
	if path, ok := strings.CutPrefix(s, "unix:"); ok {
		return path != ""
	}
	_, err := netip.ParseAddrPort(s)
	return err == nil
}
