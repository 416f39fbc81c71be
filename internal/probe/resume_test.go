package probe

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDecodeRun: what the kernel tells of a long run comes back as it was, and what is too short is none.
func TestDecodeRun(t *testing.T) {
	b := make([]byte, resumeSize)
	for i := range 7 {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(i+1))
	}
	binary.LittleEndian.PutUint32(b[56:], 8)
	binary.LittleEndian.PutUint32(b[60:], 2)
	got, err := decodeResume(b)
	want := &Resume{Start: 1, Whole: 2, Own: 3, Queued: 4, Request: 5, Code: 6, At: 7, Phase: 8, Pauses: true}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := decodeResume(b[:resumeSize-1]); !errors.Is(err, errSnapshot) {
		t.Errorf("a run that is cut: %v", err)
	}
}
