package nginx

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// A Dict is a shared dict (lua_shared_dict), read without its lock: what changes meanwhile is
// known by an entry's hash, which must be that of its key, and by links that lead back.
type Dict struct {
	Zone Zone

	nginx  *Nginx
	shared uint64 // ngx_http_lua_shdict_shctx_t
}

const (
	// ngx_http_lua_shdict_shctx_t: rbtree (root, sentinel, insert), sentinel (a node), lru_queue (prev, next).
	sharedSentinel = 0x18
	sharedQueue    = 0x40

	dataWords = 0x10 // of what a zone's module knows of it, that are searched
)

// Dict finds the dictionary in a zone. Where the zone is not one of Lua's, there is none, and no error.
func (n *Nginx) Dict(z Zone) (*Dict, error) {
	if !strings.HasSuffix(z.Module, "_lua_module") {
		return nil, nil
	}
	r := n.reader()
	// The zone's data is the dictionary's context (shctx, shpool, …); or, since zones can be asked for by
	// other modules, something that holds a zone of its own, whose data it is.
	var tried uint64
	for _, context := range append([]uint64{z.Data}, words(n.reader(), z.Data, dataWords)...) {
		if context < 1<<12 || context == tried || context >= 1<<47 {
			continue
		}
		tried = context
		c := words(n.reader(), context, 2)
		d := &Dict{Zone: z, nginx: n, shared: c[0]}
		if c[1] == z.Start && c[0] > z.Start && c[0]+sharedQueue+16 <= z.Start+z.Size &&
			r.U64(c[0]+treeNothing) == c[0]+sharedSentinel {
			return d, nil
		}
	}
	return nil, unknown("the shared dict "+z.Name+" was not found", r.Err)
}

// inside reports whether n bytes lie in the zone.
func (d *Dict) inside(at, n uint64) bool {
	return at >= d.Zone.Start && at+n <= d.Zone.Start+d.Zone.Size && at+n > at
}

// Oldest are up to most entries in the order in which the dictionary throws them out: that which was used
// least recently first. Where it changes too fast, there are fewer.
func (d *Dict) Oldest(now time.Time, most int) ([]Entry, error) {
	const tries = 200
	for range tries {
		all, whole, err := d.oldest(now, most)
		if err != nil || whole {
			return all, err
		}
		most = max(1, most*4/5) // fewer are read before the next one leaves
	}
	return nil, unknown("the entries of shared dict "+d.Zone.Name+" were not made out", nil)
}

// oldest walks the queue from its end. whole is false where that changed under the walk: links that lead
// back are no proof, because pieces that were given back and out again come to stand in a row, too.
func (d *Dict) oldest(now time.Time, most int) (all []Entry, whole bool, err error) {
	r := d.nginx.reader()
	head := d.shared + sharedQueue
	last := r.U64(head)
	for at, before := last, head; len(all) < most && at != head; {
		if !d.inside(at-nodeQueue, nodeData) {
			return nil, false, r.Err
		}
		e, ok := entryAt(r, at-nodeQueue, now)
		if !ok || e.next != before {
			return nil, false, r.Err
		}
		all = append(all, e)
		before, at = at, e.prev
	}
	if still := r.U64(head); still != last || r.Err != nil {
		return nil, false, r.Err
	}
	if len(all) == 0 {
		return nil, true, nil
	}
	e, ok := entryAt(r, last-nodeQueue, now)
	return all, ok && e.Key == all[0].Key && e.next == head && e.prev == all[0].prev, r.Err
}

// Fate is what became of entries.
type Fate struct {
	Moved   int // set anew: to a value of another size, or after the entry was thrown out
	Gone    int // in the dictionary no more
	Alive   int // of those that are gone, before their time was over: thrown out, or deleted by Lua
	Expired int // of both, those whose time is over
}

// Fate tells what has become of entries; now is when they are looked for.
func (d *Dict) Fate(entries []Entry, now time.Time) (f Fate) {
	for _, e := range entries {
		if there, ok := entryAt(d.nginx.reader(), e.address, now); ok && there.Key == e.Key {
			continue
		}
		e.left(now)
		if e.Expired() {
			f.Expired++
		}
		switch {
		case d.has(e):
			f.Moved++
		case e.Expired():
			f.Gone++
		default:
			f.Gone++
			f.Alive++
		}
	}
	return f
}

// has reports whether there is an entry of the same key.
func (d *Dict) has(e Entry) bool {
	const tries = 3 // a tree that is turned around may hide it for a moment
	for range tries {
		if d.find(e.hash, e.Key) {
			return true
		}
	}
	return false
}

// find goes down the tree, which is ordered by hash and then by key.
func (d *Dict) find(hash uint64, key string) bool {
	const deepest = 128 // a red-black tree of 2^64 nodes
	r := d.nginx.reader()
	at := r.U64(d.shared + treeRoot)
	for range deepest {
		if at == d.shared+sharedSentinel || !d.inside(at, nodeData) {
			return false
		}
		next := uint64(nodeRight)
		switch node := r.U64(at); {
		case hash < node:
			next = nodeLeft
		case hash == node:
			e, ok := entryAt(r, at, time.Time{})
			if order := bytes.Compare([]byte(key), []byte(e.Key)); ok && order == 0 {
				return true
			} else if order < 0 {
				next = nodeLeft
			}
		}
		at = r.U64(at + next)
	}
	return false
}

// check refuses a dictionary whose entries are laid out in another way: those that are used least recently
// would not be made out.
func (d *Dict) check(now time.Time) error {
	if _, err := d.Oldest(now, 1); err != nil {
		return fmt.Errorf("shared dict %s: %w", d.Zone.Name, err)
	}
	return nil
}
