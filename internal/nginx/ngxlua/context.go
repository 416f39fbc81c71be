package ngxlua

import (
	"math/bits"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/moonlap/moonlap/internal/process"
)

// contextLayout is where a request's context of the Lua module (ngx_http_lua_ctx_t) keeps what is wanted
// of it, which differs between its versions.
type contextLayout struct {
	phase      uint64 // offset of context, the directive that runs; 0: not found
	phaseBytes int
	entry      uint64 // of the coroutine that a phase began with; 0: not found yet
	current    uint64 // of the pointer to the record of the coroutine that ran last; 0: not found yet
	coroutine  uint64 // of the coroutine in such a record
	records    bool   // that offset is known
}

// luaDirectives are the bits of context (NGX_HTTP_LUA_CONTEXT_…), in the words of luaPhases.
var luaDirectives = [...]string{
	"set", "rewrite", "access", "content", "log", "header_filter", "body_filter", "timer", "init_worker", "balancer",
	"ssl_cert", "ssl_sess_store", "ssl_sess_fetch", "exit_worker", "ssl_client_hello", "server_rewrite",
	"proxy_ssl_verify", "precontent", "proxy_ssl_cert",
}

// readCode finds the phase in the machine code of ngx_http_lua_ffi_get_phase, which does nothing
// but load it, behind ctx[ngx_http_lua_module.ctx_index].
func (l *contextLayout) readCode(module *process.Object) {
	all, err := module.Instructions("ngx_http_lua_ffi_get_phase")
	if err != nil {
		return // a version of before 2019, without the function
	}
	var context x86asm.Reg // holds the context
	for _, i := range all {
		m, ok := i.Args[1].(x86asm.Mem)
		to, register := i.Args[0].(x86asm.Reg)
		switch {
		case !ok || !register || i.Op != x86asm.MOV && i.Op != x86asm.MOVZX:
		case m.Index != 0 && m.Scale == 8:
			context = to
		case context != 0 && m.Base == context && m.Disp > 0 && i.MemBytes <= 4:
			l.phase, l.phaseBytes = uint64(m.Disp), i.MemBytes
			return
		}
	}
}

const (
	requestConnection = 0x08 // of ngx_http_request_t
	requestContexts   = 0x10 // ctx, an array by module
	contextSize       = 0x140
	recordSize        = 0x20 // of a coroutine's record, as far as it is read
)

// context returns the address of a request's context of the Lua module; 0: Lua has not run for it.
func (m *Module) context(memory process.Memory, request uint64) uint64 {
	if m.at == 0 || request == 0 {
		return 0
	}
	r := &process.Reader{Memory: memory}
	at := r.U64(r.U64(request+requestContexts) + m.Slot())
	if r.Err != nil {
		return 0
	}
	return at
}

// Slot is the offset of the Lua module's context among those of a request.
func (m *Module) Slot() uint64 {
	if m.at == 0 {
		return 0
	}
	return 8 * m.reader().U64(m.at) // ctx_index, which stays as it is
}

// PhaseIn is the phase whose Lua runs, waits, or ran last for a request, as a memory has it; "" where that is not
// known.
func (m *Module) PhaseIn(memory process.Memory, request uint64) string {
	context := m.context(memory, request)
	if context == 0 || m.layout.phase == 0 {
		return ""
	}
	r := &process.Reader{Memory: memory}
	bits := r.U32(context + m.layout.phase)
	if m.layout.phaseBytes == 2 {
		bits &= 1<<16 - 1
	}
	if r.Err != nil {
		return ""
	}
	return PhaseNamed(bits)
}

// coroutine returns the coroutine that ran last for a request, or the one that its phase began with.
func (m *Module) coroutine(request uint64) (coroutine uint64, ok bool) {
	context := m.context(m.Memory, request)
	if context == 0 {
		return 0, false
	}
	m.findCoroutines(context, request)
	r := m.reader()
	if m.layout.current != 0 {
		if co := r.U64(r.U64(context+m.layout.current) + m.layout.coroutine); r.Err == nil && m.VM.Coroutine(co) {
			return co, true
		}
	}
	r.Err = nil
	co := r.U64(context + m.layout.entry)
	return co, m.layout.entry != 0 && r.Err == nil && m.VM.Coroutine(co)
}

// findCoroutines looks for the record of the entry coroutine, which is a part of the context: the
// coroutine in it knows its request. Before it stands a pointer to the current coroutine's record,
// mostly that very one.
func (m *Module) findCoroutines(context, request uint64) {
	l := &m.layout
	if l.current != 0 {
		return
	}
	r := m.reader()
	word := func(at uint64) uint64 { return r.U64(context + at) }
	for entry := uint64(8); entry < contextSize && r.Err == nil; entry += 8 {
		co := word(entry)
		if !m.VM.Coroutine(co) {
			continue
		}
		if of, err := m.VM.Request(co); err != nil || of != request {
			continue
		}
		l.entry = entry
		within := func(record uint64) bool { return record <= context+entry && context+entry-record < recordSize }
		if record, err := m.VM.Record(co); err == nil && record > context && within(record) { // the coroutine knows its record
			l.coroutine, l.records = context+entry-record, true
		}
		for at := uint64(8); at < entry; at += 8 {
			record := word(at)
			if l.records && m.isRecord(record, request) {
				l.current = at
				return
			}
			if !l.records && record > context+at && within(record) {
				l.current, l.coroutine, l.records = at, context+entry-record, true
				return
			}
		}
		return
	}
}

// PhaseNamed is the name of a phase by its bit; "" where it is not known.
func PhaseNamed(context uint32) string {
	if i := bits.TrailingZeros32(context); context == 1<<i && i < len(luaDirectives) {
		return luaDirectives[i]
	}
	return ""
}

// PhaseBit is the number of a phase's bit.
func PhaseBit(phase string) int { return slices.Index(luaDirectives[:], phase) }
