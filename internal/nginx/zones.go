package nginx

import (
	"cmp"
	"slices"

	"github.com/moonlap/moonlap/internal/process"
)

// A Zone is a piece of memory that the workers share: a dictionary of Lua's (lua_shared_dict), a
// cache's keys, a limit's counters. nginx gives it out by pages, and pages by pieces of equal size.
type Zone struct {
	Name     string `json:"name"`
	Module   string `json:"module"` // that it is for: ngx_http_lua_module
	Size     uint64 `json:"size_bytes"`
	Capacity uint64 `json:"capacity_bytes"` // of its pages together
	Free     uint64 `json:"free_bytes"`     // of whole pages that nothing is in, as dict:free_space() says
	// Pieces are what is in use of pages that were cut into pieces of up to half a page. A small entry
	// of a dictionary is one.
	Pieces uint64 `json:"pieces"`
	Failed uint64 `json:"failed"` // pieces that there was no room for; a dictionary then drops others
	Start  uint64 `json:"-"`      // address in the worker, the same in all of a master's
	Data   uint64 `json:"-"`      // address of what the module knows of it
}

// Fill is the share of the zone's pages that something is in.
func (z Zone) Fill() float64 {
	if z.Capacity == 0 {
		return 0
	}
	return 1 - float64(z.Free)/float64(z.Capacity)
}

// OtherLock is the name of a lock that lies in no zone of shared memory: that of accept(2), say.
const OtherLock = "(a lock of nginx)"

// LockName is the zone that a lock lies in, by the address of its ngx_shmtx_t.
func LockName(zones []Zone, address uint64) string {
	for _, z := range zones {
		if address >= z.Start && address-z.Start < z.Size {
			return z.Name
		}
	}
	return OtherLock
}

const (
	// ngx_list_t: last, its first part (elts, nelts, next), size, nalloc, pool.
	listSize  = 0x38
	listParts = 1 // words
	listItem  = 4
	listAlloc = 5
	listPool  = 6

	// ngx_shm_zone_t begins with data, then ngx_shm_t: addr, size, name, log, exists; init, tag.
	zoneData   = 0 // words
	zoneStart  = 1
	zoneBytes  = 2
	zoneName   = 3
	zoneTag    = 8
	zoneWords  = 10
	moduleName = 0x10 // of ngx_module_t
	mostZones  = 1000

	// ngx_slab_pool_t after its lock: min_size, min_shift, pages, last, free (a page of three words),
	// stats, pfree, start, end.
	slabMinSize  = 0 // words
	slabMinShift = 1
	slabPages    = 2
	slabStats    = 7
	slabFree     = 8
	slabStart    = 9
	slabEnd      = 10
	slabWords    = 11
	statWords    = 4 // of ngx_slab_stat_t: total, used, reqs, fails
)

// Zones reads the fill of each shared memory zone. No lock is taken: each number is right, but they
// are of slightly different moments.
func (n *Nginx) Zones() ([]Zone, error) {
	c, err := n.find()
	if err != nil {
		return nil, err
	}
	r := n.reader()
	list := words(r, c.zones, listSize/8)
	if size := list[listItem]; list[listPool] != c.pool || size < 8*zoneWords || size > 0x200 || size%8 != 0 || list[listAlloc] > mostZones {
		return nil, unknown("its list of shared memory was not found", r.Err)
	}
	var zones []Zone
	part := list[listParts : listParts+3]
	for range mostZones {
		if part[1] > list[listAlloc] || len(zones) > mostZones {
			return nil, unknown("its list of shared memory makes no sense", r.Err)
		}
		for i := range part[1] {
			zone, err := n.zone(words(r, part[0]+i*list[listItem], zoneWords))
			if err != nil {
				return nil, err
			}
			zones = append(zones, zone)
		}
		if part[2] == 0 {
			break
		}
		part = words(r, part[2], 3)
	}
	slices.SortStableFunc(zones, func(a, b Zone) int { return cmp.Compare(a.Name, b.Name) })
	return zones, r.Err
}

// zone reads one zone, of its ngx_shm_zone_t.
func (n *Nginx) zone(z []uint64) (Zone, error) {
	r := n.reader()
	page := r.U64(n.Symbols.PageSize)
	zone := Zone{Data: z[zoneData], Start: z[zoneStart], Name: text(r, z[zoneName], z[zoneName+1]), Size: z[zoneBytes], Module: module(n.reader(), z[zoneTag])}
	if zone.Name == "" || page < 1<<10 || page > 1<<20 || page&(page-1) != 0 {
		return Zone{}, unknown("a shared memory zone was not made out", r.Err)
	}
	start, end := z[zoneStart], z[zoneStart]+z[zoneBytes]
	slab, ok := slabPool(r, start, end)
	if !ok {
		return Zone{}, unknown("the pages of shared memory "+zone.Name+" were not found", r.Err)
	}
	pages := (end - slab[slabStart]) / page
	if slab[slabFree] > pages {
		return Zone{}, unknown("the shared memory "+zone.Name+" has more pages free than pages", nil)
	}
	zone.Capacity, zone.Free = pages*page, slab[slabFree]*page
	shifts := 0
	for p := page; p > 1<<slab[slabMinShift]; p >>= 1 {
		shifts++ // sizes of pieces, from min_size to half a page
	}
	for s := words(r, slab[slabStats], shifts*statWords); len(s) > 0; s = s[statWords:] {
		zone.Pieces += s[1]
		zone.Failed += s[3]
	}
	return zone, r.Err
}

// slabPool reads the pool at a zone's start. How long the lock before it is depends on how nginx was
// built; the pool's end must be the zone's.
func slabPool(r *process.Reader, start, end uint64) ([]uint64, bool) {
	for _, lock := range []uint64{16, 8} {
		slab := words(r, start+lock, slabWords)
		if slab[slabMinShift] >= 3 && slab[slabMinShift] < 10 && slab[slabMinSize] == 1<<slab[slabMinShift] && slab[slabEnd] == end &&
			slab[slabPages] > start && slab[slabStart] > slab[slabPages] && slab[slabStart] < end &&
			slab[slabStats] > start && slab[slabStats] < end {
			return slab, true
		}
	}
	return nil, false
}

// module is the name of an ngx_module_t, or "".
func module(r *process.Reader, at uint64) string {
	const most = 64
	name := r.Bytes(r.U64(at+moduleName), most)
	for i, b := range name {
		if b == 0 {
			return string(name[:i])
		}
		if b < '0' || b > 'z' {
			break
		}
	}
	return ""
}
