package luajit

import (
	"math/bits"

	"github.com/moonlap/moonlap/internal/memory"
	"github.com/moonlap/moonlap/internal/process"
)

// An index numbers objects by their address: a bit for every eight bytes of the copied memory, and how
// many are set before each word of bits. It takes a fiftieth of the memory, where a map of the addresses
// would take more than the objects themselves.
type index struct {
	parts []indexPart // in the order of their addresses
	space *memory.Space
	bits  []uint64 // of all parts
	rank  []uint32
	count int
	last  int // part that was used last
}

type indexPart struct {
	from, to uint64
	bits     []uint64
	rank     []uint32 // objects before a word of bits
}

const granule = 8 // bytes that every object is aligned to

func newIndex(copied *process.Copy, space *memory.Space) *index {
	wordsOf := func(p process.Part) int { return len(p.Bytes)/granule/64 + 1 }
	words := 0
	for _, p := range copied.Parts() {
		words += wordsOf(p)
	}
	x := &index{space: space, bits: memory.Make[uint64](space, words), rank: memory.Make[uint32](space, words)}
	at := 0
	for _, p := range copied.Parts() {
		to := at + wordsOf(p)
		x.parts = append(x.parts, indexPart{
			from: p.Address, to: p.Address + uint64(len(p.Bytes)), bits: x.bits[at:to], rank: x.rank[at:to],
		})
		at = to
	}
	return x
}

// release gives back the memory of an index that is not used any more.
func (x *index) release() {
	memory.Release(x.space, x.bits)
	memory.Release(x.space, x.rank)
}

// part finds the part that an address lies in, or nil.
func (x *index) part(address uint64) *indexPart {
	if x.last < len(x.parts) {
		if p := &x.parts[x.last]; p.from <= address && address < p.to {
			return p
		}
	}
	low, high := 0, len(x.parts)
	for low < high {
		middle := (low + high) / 2
		if x.parts[middle].to <= address {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(x.parts) || address < x.parts[low].from {
		return nil
	}
	x.last = low
	return &x.parts[low]
}

// add notes an object; false: it is known already, or no object can be there.
func (x *index) add(address uint64) bool {
	p := x.part(address)
	if p == nil || address%granule != 0 {
		return false
	}
	n := (address - p.from) / granule
	if p.bits[n/64]&(1<<(n%64)) != 0 {
		return false
	}
	p.bits[n/64] |= 1 << (n % 64)
	x.count++
	return true
}

// has reports whether an object was added.
func (x *index) has(address uint64) bool {
	p := x.part(address)
	if p == nil || address%granule != 0 {
		return false
	}
	n := (address - p.from) / granule
	return p.bits[n/64]&(1<<(n%64)) != 0
}

// set notes an object in a part, which is not known yet.
func (x *index) set(p *indexPart, n uint64) {
	p.bits[n/64] |= 1 << (n % 64)
	x.count++
}

// number gives the objects their numbers, in the order of their addresses, and returns how many there are. After it
// nothing may be added.
func (x *index) number() int {
	count := 0
	for _, p := range x.parts {
		for w, word := range p.bits {
			p.rank[w] = uint32(count)
			count += bits.OnesCount64(word)
		}
	}
	return count
}

// each calls found with all objects, in the order of their numbers.
func (x *index) each(found func(n int, at uint64)) {
	n := 0
	for _, p := range x.parts {
		for w, word := range p.bits {
			for ; word != 0; word &= word - 1 {
				found(n, p.from+uint64(64*w+bits.TrailingZeros64(word))*granule)
				n++
			}
		}
	}
}

// keep leaves out the objects whose numbers are not to be kept. The others lose their numbers.
func (x *index) keep(kept func(n int) bool) {
	n := 0
	for _, p := range x.parts {
		for w, word := range p.bits {
			for ; word != 0; word &= word - 1 {
				if !kept(n) {
					p.bits[w] &^= word & -word
					x.count--
				}
				n++
			}
		}
	}
}

// of returns the number of the object at an address.
func (x *index) of(address uint64) (int, bool) {
	p := x.part(address)
	if p == nil || address%granule != 0 {
		return 0, false
	}
	n := (address - p.from) / granule
	word := p.bits[n/64]
	if word&(1<<(n%64)) == 0 {
		return 0, false
	}
	return int(p.rank[n/64]) + bits.OnesCount64(word&(1<<(n%64)-1)), true
}
