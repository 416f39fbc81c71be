// Package worker opens a process with a Lua VM in it, finds the VM, and walks and names the frames of its stacks. In an nginx
// worker it finds the VM through variables that every nginx exports, so it needs neither debug information nor the worker's help.
package worker

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/memory"
	ngx "github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/profile"
)

// A Worker is a process with a Lua VM in it: an nginx worker, or another program.
type Worker struct {
	*process.Process
	*ngxlua.Module // with the VM and nginx, which is nil where it is another program

	Other *luajit.VM // that of the stream block where VM is of http; nil: there is none
	block string     // that VM is of; "" in another program

	sources luajit.Sources
	sourced int64                          // bytes of them
	frames  map[luajit.Frame]profile.Frame // those seen, with their names

	unmapped  bool // code was seen where nothing was mapped
	unnamed   bool // a function of LuaJIT's or in C was seen that had no name yet
	refreshed time.Time

	program os.FileInfo // that it runs, where it may begin to run another one; else nil
}

// ErrNoLua is the error of an nginx without Lua in it.
var ErrNoLua = errors.New("no Lua in it")

// Open opens a worker by its process ID. Close it afterwards.
func Open(pid int) (*Worker, error) { return openAs(pid, (*Worker).findVM) }

// OpenCore opens the core file of a worker, or of another program with LuaJIT: see [process.OpenCore].
func OpenCore(path, root string) (*Worker, error) {
	memory.EndFirst()
	p, err := process.OpenCore(path, root)
	if err != nil {
		return nil, err
	}
	w, err := openIn(p, (*Worker).findAny)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return w, err
}

func openAs(pid int, find func(*Worker) error) (*Worker, error) {
	if err := memory.Beside(pid); err != nil {
		return nil, err
	}
	p, err := process.Open(pid)
	if err != nil {
		return nil, err
	}
	return openIn(p, find)
}

// openIn finds the machine of a process, which is closed where there is none.
func openIn(p *process.Process, find func(*Worker) error) (*Worker, error) {
	w := &Worker{Process: p, Module: &ngxlua.Module{Memory: p, Still: p.Core != nil}, frames: map[luajit.Frame]profile.Frame{}}
	w.Named = w.LuaFrame
	if err := find(w); err != nil {
		p.Close()
		return nil, err
	}
	w.sources.Open = w.open
	w.prepare()
	return w, nil
}

// prepare reads now what would else have to be read while the worker stands still.
func (w *Worker) prepare() {
	w.learnNames()
	w.ReadCode()
	w.readObjects()
}

func (w *Worker) readObjects() {
	for _, m := range w.Maps {
		if m.Executable {
			if o, err := w.ObjectAt(m.Start); err == nil {
				o.Functions()
			}
		}
	}
}

// findVM finds the machine of an nginx worker. Where both its http and its stream block have Lua, each has a machine
// of its own.
func (w *Worker) findVM() error {
	p := w.Process
	if _, err := p.Stat(); err != nil { // nor could its name be read
		return err
	}
	if p.Name() != "nginx" && !strings.HasPrefix(p.Title(), "nginx:") {
		if strings.HasPrefix(p.Name(), "luajit") {
			return fmt.Errorf("process %d is %q, not an nginx worker: 'moonlap profile -- %s FILE' observes one from its start", p.PID, p.Name(), p.Name())
		}
		return fmt.Errorf("process %d is %q, not an nginx worker: 'pgrep -a nginx' lists them", p.PID, p.Name())
	}
	if strings.HasPrefix(p.Title(), "nginx: master") {
		return fmt.Errorf("process %d is nginx's master, which serves no requests; its workers are %s",
			p.PID, workersOf(p.PID))
	}
	program, err := p.FindObject("ngx_cycle", "ngx_current_msec")
	if errors.Is(err, process.ErrNotExported) {
		return fmt.Errorf("the nginx of process %d %w", p.PID, errClosed)
	}
	if err != nil {
		return err
	}
	w.Nginx = ngx.New(p, program)
	conf, at, mainThread, err := w.findLua(blockHTTP)
	if err != nil && !errors.Is(err, ErrNoLua) {
		return err
	}
	w.block = blockHTTP
	streamConf, _, other, missing := w.findLua(blockStream)
	switch {
	case missing != nil && !errors.Is(missing, ErrNoLua):
		return missing
	case err == nil:
	case missing == nil:
		w.block, conf, mainThread, other = blockStream, streamConf, other, 0
	default:
		if missing != errNotLoaded {
			err = missing
		}
		return fmt.Errorf("the nginx of process %d has %w", p.PID, err)
	}
	w.Found(conf, at)
	library, layout, err := w.luaJIT()
	if err != nil {
		return err
	}
	if w.VM, err = luajit.Attach(p, library, layout, mainThread); err == nil && other != 0 {
		w.Other, err = luajit.Attach(p, library, layout, other)
	}
	return err
}

var (
	errClosed = errors.New("does not export its symbols, by which Lua is found in it: link it with -Wl,-E, as OpenResty and " +
		"the distributions do, or leave its symbol table in it (strip --strip-debug)")
	errNotLoaded  = fmt.Errorf("%w: the module ngx_http_lua is not loaded, nor ngx_stream_lua", ErrNoLua)
	errNoLuaBlock = fmt.Errorf("%w: its configuration has no http or stream block with Lua in it, or it is just starting", ErrNoLua)
)

// findLua follows nginx's configuration to that of the Lua module for HTTP or streams, whose first field is
// the main thread (ngx_http_lua_main_conf_t); both modules on the way export their place in it.
func (w *Worker) findLua(block string) (conf, at, mainThread uint64, err error) {
	name := "ngx_" + block + "_lua_module"
	module, err := w.FindObject(name)
	var outer *process.Object
	if err == nil {
		outer, err = w.FindObject("ngx_" + block + "_module")
	}
	if errors.Is(err, process.ErrNotExported) {
		return 0, 0, 0, errNotLoaded
	}
	if err != nil {
		return 0, 0, 0, err
	}
	place, _, _ := outer.Symbol("ngx_" + block + "_module")
	lua, _, _ := module.Symbol(name)
	// ngx_module_t begins with ctx_index, index; ngx_cycle_t with conf_ctx; ngx_http_conf_ctx_t with
	// main_conf.
	r := &process.Reader{Memory: w.Process}
	configurations := r.U64(r.U64(w.Nginx.Symbols.Cycle))
	mainConf := r.U64(r.U64(configurations + 8*r.U64(place+8)))
	conf = r.U64(mainConf + 8*r.U64(lua))
	mainThread = r.U64(conf)
	if r.Err != nil || mainThread == 0 {
		return 0, 0, 0, errNoLuaBlock
	}
	if block == blockHTTP {
		at, w.Object = lua, module
	}
	return conf, at, mainThread, nil
}

// Clock is the address of nginx's clock in milliseconds; 0 where it is no nginx.
func (w *Worker) Clock() uint64 {
	if w.Nginx == nil {
		return 0
	}
	return w.Nginx.Symbols.Clock
}

// luaJIT finds where LuaJIT's code is, and how its structures lie.
func (w *Worker) luaJIT() (*process.Object, luajit.Layout, error) {
	library, err := w.FindObject("lua_pushthread", "luaJIT_setmode")
	if errors.Is(err, process.ErrNotExported) {
		return nil, luajit.Layout{}, fmt.Errorf("%w: its Lua is not LuaJIT, or is linked in by a program that %w", err, errClosed)
	}
	if err != nil {
		return nil, luajit.Layout{}, err
	}
	layout, err := luajit.Calibrate(library)
	return library, layout, err
}

// workersOf lists a master's workers.
func workersOf(master int) string {
	pids, err := ngx.WorkersOf(master)
	if err != nil {
		return "not known"
	}
	return strings.Trim(fmt.Sprint(pids), "[]")
}
