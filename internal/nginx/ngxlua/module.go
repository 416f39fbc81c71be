// Package ngxlua sees the Lua module of an nginx worker from outside: requests with their light threads and upstream servers, timers,
// pools of cosockets, phases. Where its structures differ between versions, they are found by what must hold of them.
package ngxlua

import (
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/profile"
)

// A Module is that of one worker. That of another program than nginx has no requests.
type Module struct {
	VM     *luajit.VM
	Nginx  *nginx.Nginx
	Memory process.Memory
	Still  bool                             // the memory is of the past, as that of a core
	Named  func(luajit.Frame) profile.Frame // puts a frame into words
	Object *process.Object                  // that exports the module for HTTP; nil: there is none

	conf uint64 // address of ngx_http_lua_main_conf_t, or the stream module's
	at   uint64 // address of ngx_http_lua_module, an ngx_module_t; 0: its Lua serves streams alone

	requests  requestLayout
	layout    contextLayout
	threadsAt threadLayout
	timersAt  timerLayout
}

// Found tells where the module's configuration is, and the module for HTTP; 0: its Lua serves streams alone.
func (m *Module) Found(conf, at uint64) { m.conf, m.at = conf, at }

// ReadCode learns from the module's machine code what it tells of its structures.
func (m *Module) ReadCode() {
	if m.Object != nil {
		m.layout.readCode(m.Object)
		m.requests.readCode(m.Object)
	}
}

func (m *Module) reader() *process.Reader { return &process.Reader{Memory: m.Memory} }

// URI is the offset of the URI in a request; 0: not known yet.
func (m *Module) URI() uint64 { return m.requests.uri }

// Phase is the offset and the size of the phase in a request's context of the module; 0: not known.
func (m *Module) Phase() (offset uint64, size int) { return m.layout.phase, m.layout.phaseBytes }
