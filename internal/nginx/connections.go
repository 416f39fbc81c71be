package nginx

import (
	"encoding/binary"

	"github.com/moonlap/moonlap/internal/process"
)

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// connections is where ngx_cycle_t keeps its connections, and how large their structures are.
type connections struct {
	array     uint64 // of ngx_connection_t; 0: not found yet
	count     uint64 // worker_connections
	size      uint64 // of ngx_connection_t
	events    uint64 // read_events, an array as long
	eventSize uint64 // of ngx_event_t
	free      uint64 // address of free_connection_n
	zones     uint64 // address of shared_memory, an ngx_list_t
	pool      uint64 // of the cycle
}

const (
	cycleWords = 0x50 // of ngx_cycle_t that are searched; it has some 80 in nginx 1.22
	cyclePool  = 1    // word of pool, after conf_ctx

	connectionData  = 0x00
	connectionRead  = 0x08
	connectionWrite = 0x10
	connectionFD    = 0x18
	leastConnection = 0x60
	mostConnection  = 0x400
	mostEvent       = 0x200
	mostConnections = 1 << 22
)

// find looks for the words connection_n, files_n, connections, read_events, write_events of
// ngx_cycle_t. Each connection points at its own two events, so the right words are those where the
// first, second and last connection do.
func (n *Nginx) find() (connections, error) {
	if n.connections.array != 0 {
		return n.connections, nil
	}
	r := n.reader()
	cycle := r.U64(n.Symbols.Cycle)
	all := words(r, cycle, cycleWords)
	if r.Err != nil {
		return connections{}, unknown("ngx_cycle cannot be read", r.Err)
	}
	for i := 8; i+4 < len(all); i++ {
		c := connections{count: all[i], array: all[i+2], events: all[i+3], pool: all[cyclePool]}
		if c.count == 0 || c.count > mostConnections || c.array == 0 || !n.measure(&c, all[i+4]) {
			continue
		}
		if j := n.findFree(c, all[:i]); j > 0 {
			c.free = cycle + 8*uint64(j)
			c.zones = cycle + 8*uint64(i) - listSize
			n.connections = c
			return c, nil
		}
	}
	return connections{}, unknown("its connections were not found", nil)
}

// measure finds the sizes of ngx_connection_t and ngx_event_t, at which the arrays point at one another.
func (n *Nginx) measure(c *connections, write uint64) bool {
	points := func(i uint64) bool {
		r := n.reader()
		at := c.array + i*c.size
		return r.U64(at+connectionRead) == c.events+i*c.eventSize &&
			r.U64(at+connectionWrite) == write+i*c.eventSize && r.Err == nil
	}
	if !points(0) {
		return false
	}
	first := words(n.reader(), c.array, mostConnection/8)
	for c.size = leastConnection; c.size < mostConnection-connectionWrite; c.size += 8 {
		c.eventSize = first[(c.size+connectionRead)/8] - c.events
		if c.eventSize > 0 && c.eventSize <= mostEvent && c.eventSize%8 == 0 && points(1) && points(c.count-1) {
			return true
		}
	}
	return false
}

// findFree returns the word of free_connection_n, after free_connections: the first free connection,
// whose data is the next one, and so on.
func (n *Nginx) findFree(c connections, before []uint64) int {
	const enough = 64 // links that are followed
	for i := 3; i+1 < len(before); i++ {
		at, left := before[i], before[i+1]
		if left == 0 || left > c.count {
			continue
		}
		r := n.reader()
		steps := uint64(0)
		for steps < left && steps < enough && c.holds(at) && int32(r.U32(at+connectionFD)) == -1 {
			at = r.U64(at + connectionData)
			steps++
		}
		if r.Err == nil && (steps == enough || steps == left && at == 0) {
			return i + 1
		}
	}
	return 0
}

// holds reports whether an address is that of a connection.
func (c connections) holds(address uint64) bool {
	return address >= c.array && address < c.array+c.count*c.size && (address-c.array)%c.size == 0
}

// Connections is the number of connections that the worker uses at the moment, and how many it may
// (worker_connections). Those to clients count, those to other servers, listening sockets, and what
// nginx and Lua keep for themselves: one for signals from the master, one for each running timer.
func (n *Nginx) Connections() (used, limit int, err error) {
	c, err := n.find()
	if err != nil {
		return 0, 0, err
	}
	r := n.reader()
	free := r.U64(c.free)
	if r.Err == nil && free > c.count {
		return 0, 0, unknown("more connections are free than there are", nil)
	}
	return int(c.count - free), int(c.count), r.Err
}

// EachConnection calls look with the address of each connection that serves something, what it
// serves (an ngx_http_request_t, an ngx_http_connection_t, …), and its file descriptor, -1 for none.
// The worker goes on meanwhile: what is found there has to be checked.
func (n *Nginx) EachConnection(look func(address, data uint64, fd int)) error {
	c, err := n.find()
	if err != nil {
		return err
	}
	const chunk = 64 << 10
	each := chunk / c.size
	for from := uint64(0); from < c.count; from += each {
		r := n.reader()
		count := min(each, c.count-from)
		b := r.Bytes(c.array+from*c.size, int(count*c.size))
		if r.Err != nil {
			return r.Err
		}
		for i := range count {
			one := b[i*c.size:]
			if data := le64(one[connectionData:]); data != 0 && !c.holds(data) { // a free one holds the next free one
				fd := int32(binary.LittleEndian.Uint32(one[connectionFD:]))
				look(c.array+(from+i)*c.size, data, int(fd))
			}
		}
	}
	return nil
}

// text reads an ngx_str_t of a length that names have; what is none reads as "".
func text(r *process.Reader, length, start uint64) string {
	const most = 256
	if length == 0 || length > most {
		return ""
	}
	return string(r.Bytes(start, int(length)))
}
