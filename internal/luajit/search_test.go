package luajit

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/process/processtest"
)

// TestMainThreads: a main coroutine is found wherever it lies, also across the end of a chunk, and what
// only looks like one is not.
func TestMainThreads(t *testing.T) {
	layout := Layout{GlobalState: 0x10, MainThread: 0xc0}
	const base, size = 0x7f0000000000, searchChunk + mostMain
	memory := make([]byte, 2*searchChunk)
	coroutine := func(at int, global, back uint64, kind byte) {
		memory[at+objectType] = kind
		binary.LittleEndian.PutUint64(memory[at+0x10:], global)
		if offset := int(global - base); offset > 0 && offset+0xc8 < len(memory) {
			binary.LittleEndian.PutUint64(memory[offset+0xc0:], back)
		}
	}
	good := []uint64{base, base + 0x1000, base + searchChunk - 8, base + searchChunk + 0x2000}
	for _, at := range good {
		coroutine(int(at-base), at+0x70, at, typeThread)
	}
	coroutine(0x3000, base+0x3070, base+0x3000, typeTable)  // of another type
	coroutine(0x4000, base+0x4070, base+0x1000, typeThread) // of another machine
	coroutine(0x5000, base+0x9000, base+0x5000, typeThread) // one that is not the main one
	coroutine(0x6000, 0, 0, typeThread)
	image := &processtest.Image{Parts: []processtest.Part{{Address: base, Bytes: memory}}}
	var got []uint64
	for at := uint64(base); at < base+2*searchChunk; at += searchChunk {
		got = append(got, mainThreads(image, at, int(min(size, base+2*searchChunk-at)), layout)...)
	}
	slices.Sort(got)
	if diff := cmp.Diff(good, got); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	if all := mainThreads(image, 1<<40, 64, layout); all != nil {
		t.Errorf("in memory that cannot be read: %x", all)
	}
}
