package nginx

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/process/processtest"
)

// Addresses of a made-up connection of HTTP/2: one array of 32 lists, in the third of which two nodes stand.
const (
	realAt, http2At, arrayAt = 0x10000, 0x11000, 0x12000
	nodesAt, nodeEach        = 0x13000, 0x100
	streamsAt, requestsAt    = 0x14000, 0x15000
	fakesAt, memoryEnd       = 0x16000, 0x17000
)

func http2() []byte {
	b := make([]byte, memoryEnd-realAt)
	put := func(at, value uint64) { binary.LittleEndian.PutUint64(b[at-realAt:], value) }
	put(realAt, http2At)
	put(http2At, realAt)
	put(http2At+0x98, arrayAt)
	put(arrayAt+2*8, nodesAt)
	for i := range uint64(2) {
		node, stream, request, fake := nodesAt+i*nodeEach, streamsAt+i*nodeEach, requestsAt+i*nodeEach, fakesAt+i*nodeEach
		if i == 0 {
			put(node+nodeNext, node+nodeEach)
		}
		put(node, (2+32*i)<<1|1)
		put(node+0x60, stream)
		put(stream, request)
		put(stream+streamHTTP2, http2At)
		put(stream+streamNode, node)
		put(request, requestSignature)
		put(request+requestConnection, fake)
		put(fake, request)
	}
	return b
}

func nginxOf(memory []byte) *Nginx {
	return &Nginx{Memory: &processtest.Image{Parts: []processtest.Part{{Address: realAt, Bytes: memory}}}}
}

// TestStreams: both requests of one list are found, and one that ends meanwhile is told from one that goes on.
func TestStreams(t *testing.T) {
	memory := http2()
	n := nginxOf(memory)
	var found []uint64
	n.EachStream(realAt, http2At, func(request uint64, serves func() bool) {
		found = append(found, request)
		if !serves() {
			t.Errorf("%#x is not served", request)
		}
		binary.LittleEndian.PutUint64(memory[request-realAt:], 0)
		if serves() {
			t.Errorf("%#x is still served", request)
		}
	})
	if want := []uint64{requestsAt, requestsAt + nodeEach}; !slices.Equal(found, want) {
		t.Errorf("%#x, want %#x", found, want)
	}
	n.EachStream(realAt+8, http2At, func(request uint64, _ func() bool) { t.Errorf("%#x of another connection", request) })
}

// TestSpoiltStreams: memory that changes is read to an end, and what is found is a request.
func TestSpoiltStreams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		memory := http2()
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			at := 8 * rapid.IntRange(0, len(memory)/8-1).Draw(t, "word")
			value := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(realAt, memoryEnd)).Draw(t, "value")
			binary.LittleEndian.PutUint64(memory[at:], value)
		}
		found := 0
		nginxOf(memory).EachStream(realAt, http2At, func(request uint64, _ func() bool) {
			if found++; found > mostStreams || binary.LittleEndian.Uint32(memory[request-realAt:]) != requestSignature {
				t.Fatalf("%#x", request)
			}
		})
	})
}
