package process

import "io"

const pageSize = 1 << 12

// pages keeps what is read of a process that stands still, by page. A walk over a stack reads many
// numbers that lie close together, and each system call makes the process stand still for longer.
type pages struct {
	on   bool
	held map[uint64][]byte
	free [][]byte // of samples before

	last [1 << 6]struct { // pages that were read last, by their number's lower bits
		at   uint64
		page []byte // nil: none
	}

	ahead int // pages that were read at once, downward
	run   []byte
}

func (k *pages) begin() {
	k.on = true
	if k.held == nil {
		k.held = map[uint64][]byte{}
	}
}

func (k *pages) end() {
	const most = 1 << 10 // pages that are kept for the next look
	k.on, k.ahead = false, 0
	clear(k.last[:])
	for at, page := range k.held {
		if page != nil && len(k.free) < most {
			k.free = append(k.free, page)
		}
		delete(k.held, at)
	}
}

// read fills b from the address on. It does nothing and returns false where b does not lie in pages
// that can be read, or is so large that nothing would be gained.
func (k *pages) read(from io.ReaderAt, b []byte, address uint64) bool {
	if len(b) > pageSize {
		return false
	}
	for len(b) > 0 {
		page := k.page(from, address&^(pageSize-1))
		if page == nil {
			return false
		}
		n := copy(b, page[address%pageSize:])
		b, address = b[n:], address+uint64(n)
	}
	return true
}

func (k *pages) page(from io.ReaderAt, at uint64) []byte {
	last := &k.last[at/pageSize%uint64(len(k.last))]
	if last.page == nil || last.at != at {
		last.at, last.page = at, k.find(from, at)
	}
	return last.page
}

// find returns a page, or nil where it cannot be read.
func (k *pages) find(from io.ReaderAt, at uint64) []byte {
	if page, ok := k.held[at]; ok {
		return page
	}
	if above := k.held[at+pageSize]; above != nil && k.down(from, at) {
		return k.held[at]
	}
	page := k.room()
	if _, err := from.ReadAt(page, int64(at)); err != nil {
		k.free = append(k.free, page)
		page = nil // and is not tried again
	}
	k.held[at] = page
	return page
}

// room is memory for a page.
func (k *pages) room() (page []byte) {
	if n := len(k.free); n > 0 {
		page, k.free = k.free[n-1], k.free[:n-1]
		return page
	}
	return make([]byte, pageSize)
}

// down reads the page and some below it at once, and each time more: who walks a deep stack wants all of it.
func (k *pages) down(from io.ReaderAt, at uint64) bool {
	const most = 64
	k.ahead = min(max(2, 2*k.ahead), most, int(at/pageSize))
	if k.run == nil {
		k.run = make([]byte, most*pageSize)
	}
	run := k.run[:k.ahead*pageSize]
	first := at - uint64(len(run)) + pageSize
	if _, err := from.ReadAt(run, int64(first)); err != nil {
		k.ahead = 0 // there may be no so many
		return false
	}
	for i := range k.ahead {
		if page := first + uint64(i)*pageSize; k.held[page] == nil {
			k.held[page] = append(k.room()[:0], run[i*pageSize:(i+1)*pageSize]...)
		}
	}
	return true
}

// Fresh is the process's memory as it is at each moment, also while Keep has what is read kept; by several goroutines at once.
func (p *Process) Fresh() Memory { return fresh{p} }

type fresh struct{ p *Process }

// ReadAt implements Memory.
func (f fresh) ReadAt(b []byte, address uint64) error { return f.p.readAt(b, address) }
