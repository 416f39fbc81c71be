package process

// Cached is a Memory that reads whole pages and keeps some of them: for a walk over many small
// things in a process that goes on. It is as old as its first read; make another for the next walk.
type Cached struct {
	Memory Memory
	pages  [cachedPages]struct {
		at   uint64
		data []byte // nil: none, or it cannot be read
	}
}

const cachedPages = 1 << 10 // 4 MB

// ReadAt implements Memory.
func (c *Cached) ReadAt(b []byte, address uint64) error {
	for len(b) > 0 {
		start := address &^ (pageSize - 1)
		page := &c.pages[start/pageSize%cachedPages]
		if page.data == nil || page.at != start {
			if page.data == nil {
				page.data = make([]byte, pageSize)
			}
			page.at = start
			if err := c.Memory.ReadAt(page.data, start); err != nil {
				page.data = nil
				return c.Memory.ReadAt(b, address) // it may be part of a page that can be read
			}
		}
		n := copy(b, page.data[address-start:])
		b, address = b[n:], address+uint64(n)
	}
	return nil
}
