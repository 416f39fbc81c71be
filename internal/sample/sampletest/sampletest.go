// Package sampletest samples workers for the tests of other rooms.
package sampletest

import (
	"testing"

	"github.com/moonlap/moonlap/internal/probe/probetest"
	"github.com/moonlap/moonlap/internal/sample"
)

// Sampler loads the programs for the kernel, or skips the test where that is not allowed.
func Sampler(t *testing.T) *sample.Sampler {
	t.Helper()
	probetest.Need(t)
	s, err := sample.NewSampler()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
