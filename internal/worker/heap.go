package worker

import (
	"time"

	"github.com/moonlap/moonlap/internal/heap"
	"github.com/moonlap/moonlap/internal/process"
)

// Heap copies the worker's memory while it stands still, for no longer than the pause, and says what is in
// its Lua heap and who holds it. With a pause of 0 the worker is not stopped; then some objects change while
// they are read.
// The error is a process.PauseError where the pause is too short.
func (w *Worker) Heap(pause time.Duration) (heap.Heap, error) {
	s, err := w.Snapshot(pause)
	if err != nil {
		return heap.Heap{}, err
	}
	objects, err := w.VM.ReadHeap(s.Copy, s.Registers)
	if err != nil {
		return heap.Heap{}, err
	}
	objects.Sources = &w.sources
	objects.Request = func(coroutine uint64) string { return w.requestOf(s.Copy, coroutine) }
	h := heap.Census(objects)
	h.PID, h.LuaJIT = w.PID, w.VM.Library
	h.Stopped, h.PauseNS, h.Copied = s.Stopped, s.Pause.Nanoseconds(), s.Size()
	h.Total, h.Code, h.Sweeping = int64(objects.Total), int64(objects.Code), objects.Sweeps
	for _, o := range objects.Others {
		h.Others = append(h.Others, heap.Overhead{Name: o.Name, Bytes: int64(o.Bytes)})
	}
	h.Broken, h.Cut = int64(objects.Broken), int64(objects.Cut)
	return h, nil
}

// requestOf says which request a coroutine was made for, "" where that is not known.
func (w *Worker) requestOf(memory process.Memory, coroutine uint64) string {
	vm := *w.VM
	vm.Memory = memory
	address, err := vm.Request(coroutine)
	if err != nil {
		return ""
	}
	if request, ok := w.Request(memory, address); ok && request.URI != "" {
		return request.Method + " " + request.URI
	}
	return ""
}
