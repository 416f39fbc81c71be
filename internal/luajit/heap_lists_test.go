package luajit

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLists: the objects are those of the lists, in whatever order these lead through the memory, and not what looks
// like one.
func TestLists(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := newMade(t)
		var want, places []uint64
		for range rapid.IntRange(0, 30).Draw(r, "places") {
			places = append(places, m.allocate(tableSize))
		}
		for _, at := range rapid.Permutation(places).Draw(r, "order") {
			m.memory[at-madeAt+objectType] = typeTable
			if rapid.Bool().Draw(r, "an object") {
				m.put(at, m.root)
				m.root = at
				want = append(want, at)
			} else if rapid.Bool().Draw(r, "with a next one") {
				m.put(at, m.root)
			}
		}
		var strings []uint64
		for n := range rapid.IntRange(0, 9).Draw(r, "strings") {
			at := m.string("string")
			if len(strings) > 0 && n%2 == 1 { // of equal hash
				m.put(strings[len(strings)-1], at)
				m.removeLastChain()
			}
			strings = append(strings, at)
		}
		h := m.read()
		found := 0
		for i := range h.Len() {
			if slices.Contains(places, h.at[i]) {
				found++
				if !slices.Contains(want, h.at[i]) {
					r.Fatalf("%#x is no object", h.at[i])
				}
			}
		}
		for _, at := range strings {
			h.numberAt(t, at)
		}
		if found != len(want) || h.Cut != 0 {
			r.Fatalf("%d of %d objects were found, %d lists are cut", found, len(want), h.Cut)
		}
	})
}

// removeLastChain takes the last chain of strings away, which another one leads to.
func (m *made) removeLastChain() {
	count := m.get(madeGlobal+0xa0)>>32 - 1
	m.put(m.get(madeGlobal+0x98)+8*count, 0)
	m.put(madeGlobal+0xa0, 255|count<<32)
}
