package heap

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/record"
)

// A Change is a holder in two snapshots: what came and what went.
type Change struct {
	Name      string    `json:"name"`
	Count     int64     `json:"count"` // objects of its own, after less before
	Bytes     int64     `json:"bytes"`
	HeldCount int64     `json:"held_count"` // with all below it
	HeldBytes int64     `json:"held_bytes"`
	Before    int64     `json:"held_before"` // held bytes then
	After     int64     `json:"held_after"`
	Inner     []*Change `json:"inner,omitempty"` // the largest growth first
}

// Compare compares holders by their names: what stands at the same path is the same. The other one is nil
// where a holder is in one snapshot alone.
func Compare(before, after *Holder) *Change {
	c := &Change{}
	var inner []string
	count := func(h *Holder, sign int64) {
		if h == nil {
			return
		}
		c.Name = h.Name
		c.Count += sign * h.Count
		c.Bytes += sign * h.Bytes
		c.HeldCount += sign * h.HeldCount
		c.HeldBytes += sign * h.HeldBytes
		for _, i := range h.Inner {
			inner = append(inner, i.Name)
		}
	}
	count(before, -1)
	count(after, 1)
	if before != nil {
		c.Before = before.HeldBytes
	}
	if after != nil {
		c.After = after.HeldBytes
	}
	slices.Sort(inner)
	old, now := byName(before), byName(after)
	for _, name := range slices.Compact(inner) {
		if i := Compare(old[name], now[name]); i.changed() {
			c.Inner = append(c.Inner, i)
		}
	}
	slices.SortStableFunc(c.Inner, func(a, b *Change) int {
		return cmp.Or(cmp.Compare(b.HeldBytes, a.HeldBytes), cmp.Compare(a.Name, b.Name))
	})
	return c
}

// changed reports that something came or went, be it that the sums are the same.
func (c *Change) changed() bool {
	return c.HeldBytes != 0 || c.HeldCount != 0 || c.Bytes != 0 || len(c.Inner) > 0
}

func byName(h *Holder) map[string]*Holder {
	all := map[string]*Holder{}
	if h != nil {
		for _, i := range h.Inner {
			all[i.Name] = i
		}
	}
	return all
}

// compareTypes compares the census of all heaps, the largest growth first.
func compareTypes(before, after *Snapshot) []Type {
	index := map[string]*Type{}
	var all []*Type
	count := func(s *Snapshot, sign int64) {
		for _, h := range s.Heaps {
			for _, t := range h.Types {
				if index[t.Name] == nil {
					index[t.Name] = &Type{Name: t.Name}
					all = append(all, index[t.Name])
				}
				c := index[t.Name]
				c.Count += sign * t.Count
				c.Bytes += sign * t.Bytes
				c.GarbageCount += sign * t.GarbageCount
				c.GarbageBytes += sign * t.GarbageBytes
			}
		}
	}
	count(before, -1)
	count(after, 1)
	var types []Type
	for _, t := range all {
		types = append(types, *t)
	}
	return largest(types, len(types), func(t Type) int64 { return t.Bytes })
}

// WriteChange writes what has changed between two snapshots as JSON.
func WriteChange(w io.Writer, before, after *Snapshot) error {
	return jsontext.NewEncoder(w).Encode(struct {
		Schema string    `json:"schema"`
		Kind   string    `json:"kind"`
		Before time.Time `json:"before"`
		After  time.Time `json:"after"`
		Types  []Type    `json:"types"` // after less before
		Change *Change   `json:"change"`
	}{record.Schema, "heap change", before.Time, after.Time, compareTypes(before, after), Compare(before.Holders(), after.Holders())})
}
