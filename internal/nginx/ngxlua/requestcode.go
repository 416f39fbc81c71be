package ngxlua

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/moonlap/moonlap/internal/process"
)

// readCode finds where requests keep their texts in the machine code of ngx_http_lua_ffi_req_get_method_name, which loads
// the length and the address of method_name, so that a request is known from the first look on that meets one. Where it
// is not understood, the first request that is seen tells.
func (l *requestLayout) readCode(module *process.Object) {
	all, err := module.Instructions("ngx_http_lua_ffi_req_get_method_name")
	if err != nil {
		return // Lua module before 0.10.16
	}
	request := map[x86asm.Reg]bool{x86asm.RDI: true} // registers that hold the request
	loaded := map[uint64]bool{}                      // offsets in it
	for _, i := range all {
		to, register := i.Args[0].(x86asm.Reg)
		if i.Op == x86asm.RET && len(loaded) > 1 {
			break
		}
		if i.Op != x86asm.MOV || !register {
			continue
		}
		from, copied := i.Args[1].(x86asm.Reg)
		m, read := i.Args[1].(x86asm.Mem)
		if read && request[m.Base] && m.Index == 0 && m.Disp > methodAfterURI && m.Disp%8 == 0 && m.Disp < requestSize {
			loaded[uint64(m.Disp)] = true
		}
		request[to] = copied && request[from]
	}
	for method := range loaded {
		if loaded[method+8] && len(loaded) == 2 { // ngx_str_t: length, address
			l.uri = method - methodAfterURI
		}
	}
}
