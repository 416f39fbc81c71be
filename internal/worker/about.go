package worker

import (
	"fmt"
	"regexp"

	"github.com/moonlap/moonlap/internal/process"
)

// About is what a worker consists of, and what was verified in it before it is looked into.
type About struct {
	PID      int      `json:"pid"`
	Master   int      `json:"master"`
	Program  string   `json:"program"`          // its file, as the worker sees it
	Nginx    string   `json:"nginx,omitempty"`  // "nginx/1.22.1"; "" where the program does not say
	Module   string   `json:"module,omitempty"` // version of the Lua module, "0.10.23"
	LuaJIT   string   `json:"luajit,omitempty"` // what it calls itself; OpenResty's is always 2.1.0-beta3
	Library  string   `json:"library"`          // file that LuaJIT's code is in
	BuildID  string   `json:"build_id,omitempty"`
	Branch   bool     `json:"openresty_branch"` // it is OpenResty's branch
	Exact    bool     `json:"exact_lines"`      // the line is known inside traces, too
	Traces   int      `json:"traces"`
	Filtered bool     `json:"seccomp"`  // it may not make every system call
	Verified []string `json:"verified"` // that held, in words
}

// About says what the worker consists of. Its error reports that a check did not hold.
func (w *Worker) About() (About, error) {
	a := About{
		PID: w.PID, Master: process.Parent(w.PID), Library: w.VM.Library,
		LuaJIT: w.VM.Text("jit", "version"),
		Branch: w.VM.Layout.ExtraData != 0, Exact: w.VM.Layout.SnapshotPC, Traces: w.VM.TraceCount(),
	}
	if program, err := w.FindObject("ngx_cycle"); err == nil {
		a.Program, a.Nginx = program.Path, versionIn(program)
	}
	if library, err := w.FindObject("luaJIT_setmode", "lua_pushthread"); err == nil {
		a.BuildID = library.BuildID()
	}
	if n, ok := w.VM.Number("ngx", "config", "ngx_lua_version"); ok {
		a.Module = fmt.Sprintf("%d.%d.%d", int(n)/1_000_000, int(n)/1000%1000, int(n)%1000)
	}
	var err error
	if a.Filtered, err = process.Filtered(w.PID); err != nil {
		return a, err
	}
	const tries = 5 // the worker goes on meanwhile, and may be about to make a trace
	for range tries {
		if a.Verified, err = w.VM.Verify(); err == nil {
			break
		}
	}
	return a, err
}

// serverHeader is how nginx and those made of it name themselves: "Server: openresty/1.21.4.1".
var serverHeader = regexp.MustCompile(`Server: ([a-zA-Z][\w-]*/\d[\w.+-]*)\r\n`)

// versionIn looks for the version among a program's data.
func versionIn(program *process.Object) string {
	const most = 64 << 20 // bytes; nginx has some 100,000
	for _, name := range []string{".data", ".rodata"} {
		section := program.ELF.Section(name)
		if section == nil || section.Size > most {
			continue
		}
		b, err := section.Data()
		if err != nil {
			continue
		}
		if m := serverHeader.FindSubmatch(b); m != nil {
			return string(m[1])
		}
	}
	return ""
}
