package sample

import (
	"hash/maphash"
	"slices"

	"github.com/moonlap/moonlap/internal/profile"
)

// stacks keeps each different stack once: in ten minutes one is seen a hundred thousand times.
type stacks struct {
	seed  maphash.Seed
	known map[uint64][]profile.Frame // by hash
}

// shared returns a stack equal to the one given, which is the same for all that are equal.
func (s *stacks) shared(stack []profile.Frame) []profile.Frame {
	if s.known == nil {
		s.seed, s.known = maphash.MakeSeed(), map[uint64][]profile.Frame{}
	}
	var h maphash.Hash
	h.SetSeed(s.seed)
	for _, f := range stack {
		maphash.WriteComparable(&h, f)
	}
	known, ok := s.known[h.Sum64()]
	if ok && slices.Equal(known, stack) {
		return known
	}
	if !ok {
		s.known[h.Sum64()] = stack
	}
	return stack
}
