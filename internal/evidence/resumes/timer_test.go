package resumes

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/probe"
)

// TestRunOf: what the kernel reports of a long run comes back as it was, and what is too short is none.
func TestRunOf(t *testing.T) {
	b := make([]byte, 64)
	for i := range 7 {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(i+1))
	}
	binary.LittleEndian.PutUint32(b[56:], 8)
	binary.LittleEndian.PutUint32(b[60:], 2)
	got, err := runOf(&probe.Snapshot{Own: b})
	want := run{Start: 1, Whole: 2, Own: 3, NoCPU: 4, Request: 5, Code: 6, At: 7, Phase: 8, Flags: pauses}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := runOf(&probe.Snapshot{Own: b[:63]}); err == nil {
		t.Error("a run that is cut is one")
	}
}
