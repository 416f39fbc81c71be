package nginx

import (
	"fmt"
	"math/bits"
)

const (
	// ngx_slab_page_t: slab, next, prev.
	pageWords = 3
	pageBytes = 8 * pageWords
	pageSlab  = 0 // words
	pagePrev  = 2

	// The lowest bits of prev say what a page is used for.
	pageKind  = 3 // mask
	pageWhole = 0 // free, or given out as it is
	pageBig   = 1 // pieces larger than exact ones
	pageExact = 2 // 64 pieces
	pageSmall = 3

	runStart  = 1 << 63 // in slab: the first page of a run that is given out, with its length
	shiftMask = 0xf     // of slab, where pieces are not exact: log₂ of their size

	mostPages = 16 << 20 // 64 GB of 4 kB
	readBlock = 1 << 20
)

// pages are what a zone's pages are used for.
type pages struct {
	size   uint64              // of a page
	start  uint64              // address of the first one
	pieces map[uint64][]uint64 // addresses of pages that are cut, by the size of their pieces: of those an entry fits in
	runs   []run               // pages that are given out whole
}

// A run of pages holds one thing.
type run struct{ address, bytes uint64 }

// pagesOf reads the descriptors of a zone's pages; they change meanwhile.
func (n *Nginx) pagesOf(z Zone) (pages, error) {
	r := n.reader()
	p := pages{size: r.U64(n.Symbols.PageSize), pieces: map[uint64][]uint64{}}
	slab, ok := slabPool(r, z.Start, z.Start+z.Size)
	if !ok || p.size < 1<<10 || p.size > 1<<20 || p.size&(p.size-1) != 0 || z.Capacity/p.size > mostPages ||
		slab[slabPages]+z.Capacity/p.size*pageBytes > z.Start+z.Size {
		return p, unknown("the pages of shared memory "+z.Name+" were not found", r.Err)
	}
	p.start = slab[slabStart]
	count := z.Capacity / p.size
	all := make([]byte, 0, count*pageBytes)
	for left := count * pageBytes; left > 0; left = count*pageBytes - uint64(len(all)) {
		all = append(all, r.Bytes(slab[slabPages]+uint64(len(all)), int(min(left, readBlock)))...)
		if r.Err != nil {
			return p, fmt.Errorf("the pages of shared memory %s: %w", z.Name, r.Err)
		}
	}
	for i := uint64(0); i < count; i++ {
		page, at := all[i*pageBytes:], p.start+i*p.size
		word := le64(page[8*pageSlab:])
		switch le64(page[8*pagePrev:]) & pageKind {
		case pageWhole:
			if length := word &^ runStart; word&runStart != 0 && length > 0 && length <= count-i {
				p.runs = append(p.runs, run{at, length * p.size})
				i += length - 1
			}
		case pageExact:
			p.cut(at, p.size/64)
		case pageBig, pageSmall:
			p.cut(at, 1<<(word&shiftMask))
		}
	}
	return p, nil
}

// cut notes a page with pieces of a size, unless no entry fits in them, or the size makes no sense.
func (p *pages) cut(at, size uint64) {
	if size > nodeData && size <= p.size/2 && bits.OnesCount64(size) == 1 {
		p.pieces[size] = append(p.pieces[size], at)
	}
}
