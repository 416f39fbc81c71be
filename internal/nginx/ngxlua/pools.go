package ngxlua

import (
	"cmp"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/luajit"
)

// A Pool is the connections that cosockets keep to one place (ngx_http_lua_socket_pool_t, since version
// 0.10.14 of the Lua module).
type Pool struct {
	Name    string `json:"name"`    // host:port, unix:path, or what Lua has called it
	Size    int    `json:"size"`    // most connections that are kept
	Idle    int    `json:"idle"`    // kept, for the next who asks
	Busy    int    `json:"busy"`    // in use, or being made
	Waiting int    `json:"waiting"` // connects that wait for a connection to become free (backlog)
}

// Words of a pool: lua_vm, size, two queues of connects, connections, then the queues cache and free.
const (
	poolVM    = 0
	poolSize  = 1
	poolWords = 0x14 // that are searched; the name is among them, or behind

	leastPool     = 0x60    // bytes
	mostPool      = 1 << 20 // connections
	queueSize     = 16      // ngx_queue_t: prev, next
	beforeWaiting = 8 + queueSize
)

// Pools lists the pools of the worker's cosockets by name. The worker goes on meanwhile: one that does not
// make sense at the moment is left out.
func (m *Module) Pools() []Pool {
	all := []Pool{}
	for _, u := range m.VM.Userdata() {
		if p, ok := m.pool(u); ok {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b Pool) bool { return a.Name == b.Name })
}

// pool reads a pool, if the userdata is one: it knows its machine and repeats its name, and its two queues
// of places together are as long as it is large, and lie all in it.
func (m *Module) pool(u luajit.Registered) (p Pool, ok bool) {
	r := m.reader()
	size := r.U64(u.Data + 8*poolSize)
	if u.Bytes < leastPool || r.U64(u.Data+8*poolVM) != r.U64(m.conf) || size == 0 || size > mostPool {
		return p, false
	}
	named := string(r.Bytes(u.Data, int(min(u.Bytes, 8*poolWords+uint64(len(u.Name))))))
	if r.Err != nil || !strings.Contains(named, u.Name+"\x00") {
		return p, false
	}
	inside := func(at uint64) bool { return at >= u.Data && at < u.Data+u.Bytes }
	for at := u.Data + 8*(poolSize+1) + beforeWaiting; at+2*queueSize <= u.Data+8*poolWords; at += 8 {
		idle, ok := m.queue(at, size, inside)
		free, okFree := m.queue(at+queueSize, size, inside)
		connections := r.U64(at - 8)
		if !ok || !okFree || uint64(idle+free) != size || connections > mostPool || r.Err != nil {
			continue
		}
		waiting, ok := m.queue(at-beforeWaiting, mostPool, func(uint64) bool { return true })
		busy := int(connections) - idle - waiting // those that wait count as connections, too
		if !ok || busy < 0 {
			continue
		}
		return Pool{Name: u.Name, Size: int(size), Idle: idle, Busy: busy, Waiting: waiting}, true
	}
	return p, false
}

// queue counts what is in an ngx_queue_t, a ring with its head; ok is false where it is none, is longer than
// most, or has a part in another place than it may.
func (m *Module) queue(head, most uint64, may func(at uint64) bool) (n int, ok bool) {
	r := m.reader()
	last := head
	for at := r.U64(head + 8); at != head; at = r.U64(at + 8) {
		if !may(at) || r.U64(at) != last || uint64(n) == most || r.Err != nil {
			return 0, false
		}
		last = at
		n++
	}
	return n, r.Err == nil && r.U64(head) == last && r.Err == nil
}
