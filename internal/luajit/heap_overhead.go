package luajit

// Fields of jit_State around J.trace: temporary buffers of the compiler, counted back from it, because
// what comes before them differs (lj_jit.h).
const (
	jitCode, jitCodeTop, jitCodeBottom = 0x38, 0x30, 0x2c // irbuf, irtoplim, irbotlim
	jitSnaps                           = 0x24             // sizesnap
	jitSnapMap                         = 0x10             // sizesnapmap
)

// overheads measures what the machine counts in its total and what is no object.
func (h *Heap) overheads() []Overhead {
	g := h.vm.Global
	traces := g + h.vm.Layout.Traces
	compiler := 8 * uint64(h.word(traces+tracesCount))
	if code := h.pointer(traces - jitCode); code != 0 {
		compiler += irSize * bounded(uint64(h.word(traces-jitCodeTop))-uint64(h.word(traces-jitCodeBottom)))
	}
	compiler += snapshotSize*bounded(uint64(h.word(traces-jitSnaps))) + 4*bounded(uint64(h.word(traces-jitSnapMap)))
	buffer := g + h.vm.Layout.MainThread + 8 // tmpbuf
	scratch := bounded(h.pointer(buffer+bufferEnd) - h.pointer(buffer+bufferBegin))
	if h.pointer(g+h.layout.total+gcSegment) != 0 {
		n := uint64(2)
		for used := uint64(h.byte(g + h.layout.total + gcSegments)); n <= used; {
			n *= 2
		}
		scratch += 4 * n
	}
	all := []Overhead{
		{"LuaJIT's own state", h.vm.Layout.StateSize},
		{"table of strings", 8 * (uint64(h.word(g+h.layout.strings+8)) + 1)},
		{"compiler's buffers", compiler},
		{"C types", h.types.bytes()},
		{"scratch buffer", scratch},
	}
	return all
}

func (h *Heap) byte(at uint64) uint8 {
	if b := h.copy.View(at, 1); b != nil {
		return b[0]
	}
	return 0
}

// bounded is a length, or 0 where it can only be garbage.
func bounded(n uint64) uint64 {
	if n > 1<<30 {
		return 0
	}
	return n
}
