package nginx

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// Contents are what was read of a dictionary's entries: of a large one, a random part.
type Contents struct {
	Strata  []Stratum
	Largest []Entry // of those that were read; of values that take whole pages, of all
	// Pages that hold something, and how many were read.
	Used, Read int
}

// A Stratum is the pages that are cut into pieces of one size, or the runs of pages that hold one thing
// each. Those that were read are a simple random sample of it.
type Stratum struct {
	Units int     // pages or runs
	Read  []Tally // of each that was read
}

// A Tally counts the entries in a page.
type Tally struct {
	Entries int
	Expired int    // that are still kept
	Bytes   uint64 // that entries take, before pieces round them up
}

// leastPages is how many pages of a size are read, if there are as many.
const leastPages = 16

// Scan reads about as many pages as told, and keeps the top largest entries. random is never the same twice.
func (d *Dict) Scan(now time.Time, most, top int, random *rand.Rand) (Contents, error) {
	var c Contents
	if err := d.check(now); err != nil {
		return c, err
	}
	p, err := d.nginx.pagesOf(d.Zone)
	if err != nil {
		return c, err
	}
	c.Used = len(p.runs)
	for _, all := range p.pieces {
		c.Used += len(all)
	}
	share := func(units int) int {
		return min(units, max(leastPages, int(float64(most)*float64(units)/float64(max(1, c.Used)))))
	}
	for _, size := range slices.Sorted(maps.Keys(p.pieces)) {
		all := p.pieces[size]
		s := Stratum{Units: len(all)}
		for _, page := range draw(all, share(len(all)), random) {
			s.Read = append(s.Read, d.page(page, p.size, size, now, &c, top))
		}
		c.add(s)
	}
	s := Stratum{Units: len(p.runs)}
	for _, run := range draw(p.runs, share(len(p.runs)), random) {
		var t Tally
		if e, ok := entryAt(d.nginx.reader(), run.address, now); ok && e.room <= run.bytes {
			t.add(e)
		}
		s.Read = append(s.Read, t)
	}
	c.add(s)
	d.largestRuns(p.runs, now, top, &c)
	c.keep(top)
	return c, nil
}

func (c *Contents) add(s Stratum) {
	if s.Units > 0 {
		c.Strata = append(c.Strata, s)
		c.Read += len(s.Read)
	}
}

// draw takes n of all at random, and puts them first.
func draw[T any](all []T, n int, random *rand.Rand) []T {
	for i := range n {
		j := i + random.IntN(len(all)-i)
		all[i], all[j] = all[j], all[i]
	}
	return all[:n]
}

// page counts the entries in a page that is cut into pieces.
func (d *Dict) page(at, bytes, size uint64, now time.Time, c *Contents, top int) (t Tally) {
	b := d.nginx.reader().Bytes(at, int(bytes))
	for ; uint64(len(b)) >= size; b = b[size:] {
		if e, ok := entry(b[:size], at+bytes-uint64(len(b)), now); ok && e.room <= size {
			t.add(e)
			if top > 0 {
				c.Largest = append(c.Largest, e)
			}
		}
	}
	if len(c.Largest) > 64*(top+1) {
		c.keep(top)
	}
	return t
}

func (t *Tally) add(e Entry) {
	t.Entries++
	t.Bytes += e.room
	if e.Expired() {
		t.Expired++
	}
}

// largestRuns adds the largest of the entries that take whole pages.
func (d *Dict) largestRuns(runs []run, now time.Time, top int, c *Contents) {
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(b.bytes, a.bytes) })
	// Of those that take the same number of pages as the last one, any may be larger; they are few, or
	// differ by less than a page.
	const more = 256
	for _, run := range runs[:min(len(runs), top*2+more*min(top, 1))] {
		if e, ok := entryAt(d.nginx.reader(), run.address, now); ok && e.room <= run.bytes {
			c.Largest = append(c.Largest, e)
		}
	}
}

// keep sorts the largest entries and forgets the others.
func (c *Contents) keep(top int) {
	slices.SortFunc(c.Largest, func(a, b Entry) int { return cmp.Or(cmp.Compare(b.room, a.room), cmp.Compare(a.Key, b.Key)) })
	c.Largest = slices.CompactFunc(c.Largest, func(a, b Entry) bool { return a.Key == b.Key })
	c.Largest = c.Largest[:min(len(c.Largest), top)]
}
