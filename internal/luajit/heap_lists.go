package luajit

import (
	"math/bits"

	"github.com/moonlap/moonlap/internal/memory"
)

// Objects are found by the lists that the collector has. To follow one by its addresses would go to and fro in the
// whole copy, which may be on a disk. So the copy is gone through once, in the order of its addresses, for all places
// that look like an object: those get numbers, and a list is followed from number to number.
type candidates struct {
	heap  *Heap
	index *index // of what looks like an object, and in the end of the objects alone
	kinds []uint8
	next  []uint32 // number of the next of its list
	seen  []uint64 // a bit for each that is an object
}

// What comes behind a candidate where that is none.
const (
	listEnds = 1<<32 - 1 - iota
	listCut
)

// readLists follows the lists of all objects, of the open upvalues of each coroutine, of what waits for its
// finalizer, and of the strings.
func (h *Heap) readLists() {
	g := h.vm.Global
	c := h.findCandidates()
	c.list(h.pointer(g+h.layout.total+gcRoot), listEnds)
	if first := h.pointer(g + h.layout.total + gcFinalize); first != 0 {
		c.list(first, c.number(first))
	}
	for _, at := range c.threads() {
		c.list(h.pointer(at+h.vm.Layout.Stack+8), listEnds) // openupval
	}
	table, mask := h.pointer(g+h.layout.strings), h.word(g+h.layout.strings+8)
	h.Strings = int(h.word(g + h.layout.strings + 12))
	anchors := h.vector(table, 8*(uint64(mask)+1))
	if anchors == nil {
		h.Cut++
	}
	c.chains(anchors)
	c.keep()
	// The empty string is a part of global_State.
	if empty := g + h.layout.total + gcSize; h.kindAt(empty) == typeString {
		h.index.add(empty)
	}
}

// findCandidates numbers all places with the head of an object: a type, and the address of another one or none.
func (h *Heap) findCandidates() *candidates {
	c := &candidates{heap: h, index: h.index}
	var behind []uint64 // address of the next, by number
	for i, part := range h.copy.Parts() {
		p := &h.index.parts[i]
		for at := 0; at+headerSize <= len(part.Bytes); at += granule {
			head := part.Bytes[at : at+headerSize]
			if head[objectType]-typeString > typeUserdata-typeString {
				continue
			}
			if next := le64(head); next == 0 || next%granule == 0 && c.index.part(next) != nil {
				c.index.set(p, uint64(at)/granule)
				c.kinds = memory.Push(h.space, c.kinds, head[objectType])
				behind = memory.Push(h.space, behind, next)
			}
			h.soon(p.from + uint64(at))
		}
	}
	n := c.index.number()
	c.next, c.seen = memory.Make[uint32](h.space, n), memory.Make[uint64](h.space, n/64+1)
	for n, next := range behind {
		c.next[n] = c.number(next)
	}
	memory.Release(h.space, behind)
	return c
}

// number is that of the candidate at an address.
func (c *candidates) number(at uint64) uint32 {
	if at == 0 {
		return listEnds
	}
	if n, ok := c.index.of(at); ok {
		return uint32(n)
	}
	return listCut
}

// add notes that a candidate is an object; false: that is known already.
func (c *candidates) add(n uint32) bool {
	word, bit := &c.seen[n/64], uint64(1)<<(n%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// list notes the objects of a list, which ends with none or where it began.
func (c *candidates) list(at uint64, end uint32) {
	n := c.number(at)
	for first := true; n != listEnds && (first || n != end); first = false {
		if n == listCut || !c.add(n) {
			c.heap.Cut++ // garbage, or a circle
			return
		}
		n = c.next[n]
	}
}

// threads are the addresses of the coroutines among the objects: each has a list of its own.
func (c *candidates) threads() (all []uint64) {
	c.index.each(func(n int, at uint64) {
		if c.kinds[n] == typeThread && c.has(n) {
			all = append(all, at)
		}
	})
	return all
}

// has reports whether a candidate is an object.
func (c *candidates) has(n int) bool { return c.seen[n/64]&(1<<(n%64)) != 0 }

// chains notes strings of equal hash, of all chains at once: the first of each in the order of their addresses, then
// the second of each, and so on. One chain after the other would go to and fro in all arrays.
func (c *candidates) chains(anchors []byte) {
	links, behind := memory.Make[uint64](c.heap.space, len(c.seen)), memory.Make[uint64](c.heap.space, len(c.seen)) // bits
	any := false
	follow := func(n uint32, links []uint64) {
		switch {
		case n == listEnds:
		case n == listCut || links[n/64]&(1<<(n%64)) != 0:
			c.heap.Cut++
		default:
			links[n/64] |= 1 << (n % 64)
			any = true
		}
	}
	for ; len(anchors) >= 8; anchors = anchors[8:] {
		follow(c.number(le64(anchors)&^1), links) // the lowest bit tells the hash function
	}
	for any {
		any = false
		for w, word := range links {
			links[w] = 0
			for ; word != 0; word &= word - 1 {
				n := uint32(64*w + bits.TrailingZeros64(word))
				if c.kinds[n] == typeString && c.add(n) {
					follow(c.next[n], behind)
				} else {
					c.heap.Cut++
				}
			}
		}
		links, behind = behind, links
	}
	memory.Release(c.heap.space, links, behind)
}

// keep leaves in the index what is an object.
func (c *candidates) keep() {
	c.index.keep(c.has)
	memory.Release(c.heap.space, c.kinds)
	memory.Release(c.heap.space, c.next)
	memory.Release(c.heap.space, c.seen)
}
