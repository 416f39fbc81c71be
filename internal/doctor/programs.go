package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// about is Lua that tells, line by line, how its VM was built.
const about = `
local ffi = require "ffi"
local function tell(name, value) print("doctor." .. name .. "=" .. tostring(value)) end
tell("version", jit.version)
tell("arch", jit.arch)
tell("gc64", ffi.abi("gc64"))
tell("jit", (jit.status()))
tell("openresty", (pcall(require, "table.isempty")))
tell("prngstate", jit.prngstate ~= nil)
tell("lua52", #setmetatable({}, {__len = function() return 1 end}) == 1)
if ngx then
    tell("module", ngx.config.ngx_lua_version)
    local ok, core = pcall(require, "resty.core.base")
    tell("core", ok and core.version or "none: " .. tostring(core):match("[^\n]*"))
end
`

// Programs finds the runtimes, runs each, and checks how it was built. None of them
// found is the one problem that makes measuring impossible: any is then false.
func Programs(ctx context.Context, opts runtime.Options) (checks []Check, found []record.Runtime, any bool) {
	var versions []string
	for _, kind := range []string{runtime.LuaJIT, runtime.Nginx} {
		program, err := runtime.Find(ctx, kind, opts)
		if err != nil {
			text, remedy := err.Error(), "see the message"
			if before, after, ok := strings.Cut(text, "; "); ok {
				text, remedy = before, after
			}
			checks = append(checks, note(kind, text, remedy))
			continue
		}
		says, err := ask(ctx, program)
		if err != nil {
			checks = append(checks, problem(kind, fmt.Sprintf("%s does not run: %v", program.Path, err), "see the message"))
			continue
		}
		any, found = true, append(found, program)
		checks = append(checks, built(kind, program, says))
		if kind == runtime.Nginx {
			checks = append(checks, core(says))
		}
		versions = append(versions, says["version"])
	}
	if len(versions) == 2 && versions[0] != versions[1] {
		checks = append(checks, note("VMs", fmt.Sprintf("luajit is %s, nginx's is %s: their figures differ", versions[0], versions[1]),
			"measure with --runtime nginx what is to run in nginx"))
	}
	if !any {
		for i := range checks {
			checks[i].Status = Problem
		}
	}
	return checks, found, any
}

// ask runs the Lua above in the program.
func ask(ctx context.Context, program record.Runtime) (map[string]string, error) {
	if program.Kind == runtime.LuaJIT {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		out, err := exec.CommandContext(ctx, program.Path, "-e", about).Output()
		return said(out), err
	}
	var out, log bytes.Buffer
	p, err := runtime.Start(ctx, runtime.Spec{
		Job:     runtime.Job{Mode: runtime.ModeRun, Code: []string{about}},
		Runtime: program, Timeout: 20 * time.Second, Stdout: &out, Stderr: &log,
	})
	if err != nil {
		return nil, err
	}
	for line := range p.Lines() {
		if f, ok := line.(record.Fault); ok {
			err = fmt.Errorf("%s", strings.Join(strings.Fields(f.Text), " "))
		}
	}
	return said(out.Bytes()), err
}

func said(out []byte) map[string]string {
	says := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if name, ours := strings.CutPrefix(name, "doctor."); ok && ours {
			says[name] = value
		}
	}
	return says
}

// built says which VM a program holds, and what of its build matters for measuring.
func built(kind string, program record.Runtime, says map[string]string) Check {
	facts := []string{says["version"], says["arch"]}
	if says["openresty"] == "true" {
		facts = append(facts, "OpenResty's branch")
	}
	for _, option := range []struct{ name, text string }{{"gc64", "GC64"}, {"lua52", "Lua 5.2 extensions"}} {
		if says[option.name] == "true" {
			facts = append(facts, option.text)
		}
	}
	text := program.Path + ": " + strings.Join(facts, ", ")
	if kind == runtime.Nginx {
		text = fmt.Sprintf("%s (%s): %s", program.Path, program.Version, strings.Join(facts, ", "))
	}
	switch {
	case says["version"] == "":
		return problem(kind, program.Path+" ran, but did not answer", "run 'moonlap run -e \"print(jit.version)\"' to see why")
	case says["jit"] != "true":
		return problem(kind, text+", without its compiler: everything is interpreted", "use a LuaJIT that is built with its JIT for this CPU")
	case says["prngstate"] != "true":
		return note(kind, text+", without jit.prngstate", "a process can't be replayed with its draw; OpenResty's LuaJIT can")
	}
	return ok(kind, text)
}

// core is about lua-resty-core, which the Lua module needs in a version of its own.
func core(says map[string]string) Check {
	if version := says["core"]; version == "" || strings.HasPrefix(version, "none") {
		return problem("resty.core", "not found: "+strings.TrimPrefix(version, "none: "),
			"install lua-resty-core in the version that the Lua module asks for")
	}
	// resty.core.base refuses to load in a module that it does not match.
	return ok("resty.core", fmt.Sprintf("%s, matches the Lua module %s", says["core"], moduleVersion(says["module"])))
}

// moduleVersion writes 10023 as 0.10.23.
func moduleVersion(number string) string {
	var n int
	if _, err := fmt.Sscan(number, &n); err != nil {
		return number
	}
	return fmt.Sprintf("%d.%d.%d", n/1000000, n/1000%1000, n%1000)
}
