// Package heaptest takes heaps for tests.
package heaptest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/heap"
	"github.com/moonlap/moonlap/internal/worker"
)

// Patient is a pause that is long enough on any machine: what is tested is what is found.
const Patient = time.Minute

// First is the heap of a worker's first VM.
func First(w *worker.Worker, o heap.Options) (heap.Heap, error) {
	all, err := heap.Take(w, o)
	return append(all, heap.Heap{})[0], err
}

// Take takes the heap of a worker.
func Take(t *testing.T, w *worker.Worker) heap.Heap {
	t.Helper()
	h, err := First(w, heap.Options{Pause: Patient})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// SameSpilt asserts that a heap is found to be the same through files as it was found in memory.
func SameSpilt(t *testing.T, w *worker.Worker, want heap.Heap) {
	t.Helper()
	spilt, err := First(w, heap.Options{Pause: Patient, Spill: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	spilt.PauseNS, spilt.Stops = want.PauseNS, want.Stops
	if d := cmp.Diff(want, spilt); d != "" {
		t.Errorf("through files it is another heap (-in memory +through files):\n%s", d)
	}
}

// Find finds a holder whose path, with arrows between its names, ends with a text.
func Find(h *heap.Holder, path, end string) *heap.Holder {
	for _, inner := range h.Inner {
		at := path + " → " + inner.Name
		if strings.HasSuffix(at, end) {
			return inner
		}
		if found := Find(inner, at, end); found != nil {
			return found
		}
	}
	return nil
}
