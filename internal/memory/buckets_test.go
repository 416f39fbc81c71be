package memory

import (
	"testing"

	"pgregory.net/rapid"
)

// TestBuckets: each record comes back once, in the range of its key, and in the order in which those of one key were added.
func TestBuckets(t *testing.T) {
	for name, s := range map[string]*Space{"Go's": nil, "a file": {Folder: t.TempDir()}} {
		rapid.Check(t, func(t *rapid.T) {
			keys := rapid.IntRange(0, 1<<26).Draw(t, "keys")
			known := rapid.SliceOfN(rapid.Uint32Range(0, uint32(keys)), 1, 10).Draw(t, "known")
			err := Run(func() error {
				b := NewBuckets(s, keys)
				defer func() { Release(b.space, b.all) }()
				want := map[uint32][]uint32{}
				for i := range uint32(rapid.IntRange(0, 30_000).Draw(t, "records")) {
					key := known[i*i%uint32(len(known))]
					b.Add(key, i, ^i)
					want[key] = append(want[key], i)
				}
				last := 0
				b.Each(func(from, to int, records func(func(key, x, y uint32))) {
					if from != last || to <= from {
						t.Fatalf("%s: a range from %d to %d behind %d", name, from, to, last)
					}
					last = to
					records(func(key, x, y uint32) {
						if left := want[key]; int(key) < from || int(key) >= to || len(left) == 0 || left[0] != x || y != ^x {
							t.Fatalf("%s: %d, %d, %d from %d to %d; next is %d", name, key, x, y, from, to, left)
						}
						want[key] = want[key][1:]
					})
				})
				for key, left := range want {
					if len(left) > 0 || int(key) >= last {
						t.Fatalf("%s: %d records of %d are missing", name, len(left), key)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
