package probe

import (
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/process/processtest"
)

// TestReplayRequest: the walker copies the phase and the texts of the request that the running coroutine knows, and
// the phase also where the texts' place is not known.
func TestReplayRequest(t *testing.T) {
	const (
		request, contexts, context, uri = 0x7000_0000, 0x7000_1000, 0x7000_2000, 0x7000_3000
		text                            = "/path"
	)
	words := func(all ...uint64) (b []byte) {
		for _, w := range all {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	program := replayer(t)
	for _, file := range images(t) {
		for _, target := range []Target{{Context: 0x28, Phase: 0x40}, {Context: 0x28, Phase: 0x40, URI: 0x100}, {URI: 0x100}} {
			r := startAt(t, program, file, target, func(r *replay) []processtest.Part {
				running := (&process.Reader{Memory: r.image}).U64(r.vm.Global + r.vm.Layout.CurrentL)
				return []processtest.Part{
					{Address: running + r.vm.Layout.ExtraData, Bytes: words(request)},
					{Address: request, Bytes: words(0x50545448, 0, contexts)},
					{Address: request + 0x100, Bytes: words(uint64(len(text)), uri, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)},
					{Address: contexts + 0x28, Bytes: words(context)},
					{Address: context + 0x40, Bytes: words(0x1234)},
					{Address: uri, Bytes: append([]byte(text), 0, 0, 0)},
				}
			})
			if r.vm.Layout.ExtraData == 0 {
				t.Fatalf("%s is not of OpenResty's branch", filepath.Base(file))
			}
			m, err := decode(r.walk(t, asItIs, 0, 0), r.vm.Layout.Stack)
			if err != nil {
				t.Fatal(err)
			}
			copied := process.Reader{Memory: m.Alone()}
			if phase := copied.U64(context + 0x40); (phase == 0x1234 && copied.Err == nil) != (target.Phase != 0) {
				t.Errorf("%s, %+v: the phase is %#x, %v", filepath.Base(file), target, phase, copied.Err)
			}
			if m.Copied(uri) != (target.URI != 0) {
				t.Errorf("%s, %+v: the path was copied: %v", filepath.Base(file), target, m.Copied(uri))
			}
		}
	}
}
