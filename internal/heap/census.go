package heap

import (
	"strings"

	"github.com/moonlap/moonlap/internal/memory"
)

// A Source is a heap that can be counted and named.
type Source interface {
	Objects
	names
	TypeName(object int) string // for the census: "table", "Lua function"
	Entries(table int) int64
}

const (
	mostTables = 20
	mostCData  = 20
	// smallest is the share of the heap below which holders are put together.
	smallest = 1.0 / 20_000
)

// Census counts all objects by type, finds who holds them, and fills the fields of a Heap that tell it.
// What is kept of each object meanwhile lies in the space: call it within memory.Run.
func Census(s Source, space *memory.Space) Heap {
	g := build(s, space)
	h := Heap{Objects: int64(s.Len()), Broken: g.broken, Holders: g.Holders(s, s, space)}
	h.Types = g.types(s)
	h.Tables = g.tables(s)
	h.CData = places(h.Holders)
	if garbage := garbageHolder(h.Types); garbage.HeldCount > 0 {
		h.Holders.HeldCount += garbage.HeldCount
		h.Holders.HeldBytes += garbage.HeldBytes
		h.Holders.Inner = append(h.Holders.Inner, garbage)
		h.Holders.sort()
	}
	h.Holders.Prune(int64(float64(h.Holders.HeldBytes) * smallest))
	return h
}

func (g *graph) types(s Source) []Type {
	index := map[string]int{}
	var all []Type
	for i := range s.Len() {
		name := s.TypeName(i)
		n, ok := index[name]
		if !ok {
			n = len(all)
			index[name] = n
			all = append(all, Type{Name: name})
		}
		t := &all[n]
		t.Count++
		t.Bytes += s.Size(i)
		if !g.Alive(i) {
			t.GarbageCount++
			t.GarbageBytes += s.Size(i)
		}
	}
	return largest(all, len(all), func(t Type) int64 { return t.Bytes })
}

// tables are the largest ones.
func (g *graph) tables(s Source) []Table {
	type sized struct {
		object int
		bytes  int64
	}
	var all []sized
	for i := range s.Len() {
		if n := s.Size(i); s.TypeName(i) == "table" && g.Alive(i) {
			if all = append(all, sized{i, n}); len(all) > 1000*mostTables {
				all = largest(all, mostTables, func(t sized) int64 { return t.bytes })
			}
		}
	}
	all = largest(all, mostTables, func(t sized) int64 { return t.bytes })
	objects := make([]int, len(all))
	for i, t := range all {
		objects[i] = t.object
	}
	paths := g.Paths(s, s, objects)
	var tables []Table
	for i, t := range all {
		tables = append(tables, Table{Path: paths[i], Entries: s.Entries(t.object), Bytes: t.bytes, Held: g.Held(t.object)})
	}
	return tables
}

// places are the holders with the most C data of their own.
func places(root *Holder) []Place {
	var all []Place
	var visit func(h *Holder, path []string)
	visit = func(h *Holder, path []string) {
		if i := strings.LastIndex(h.Name, "cdata "); i >= 0 {
			steps := path
			if last := strings.TrimSpace(h.Name[:i]); last != "" {
				steps = append(path[:len(path):len(path)], last)
			}
			all = append(all, Place{What: h.Name[i+len("cdata "):], Path: strings.Join(steps, " → "), Count: h.Count, Bytes: h.Bytes})
		}
		if h != root {
			path = append(path[:len(path):len(path)], h.Name)
		}
		for _, inner := range h.Inner {
			visit(inner, path)
		}
	}
	visit(root, nil)
	return largest(all, mostCData, func(p Place) int64 { return p.Bytes })
}

// garbageHolder stands for what nothing holds.
func garbageHolder(types []Type) *Holder {
	h := &Holder{Name: "nothing (garbage)"}
	for _, t := range types {
		if t.GarbageCount == 0 {
			continue
		}
		h.HeldCount += t.GarbageCount
		h.HeldBytes += t.GarbageBytes
		h.Inner = append(h.Inner, &Holder{
			Name: t.Name, Count: t.GarbageCount, Bytes: t.GarbageBytes, HeldCount: t.GarbageCount, HeldBytes: t.GarbageBytes,
		})
	}
	h.sort()
	return h
}
