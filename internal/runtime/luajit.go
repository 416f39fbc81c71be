package runtime

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
)

// luajitName is argv[0], and so the beginning of LuaJIT's own messages.
const luajitName = "luajit"

func (p *Process) startLuaJIT(ctx context.Context, library, job string) error {
	c, err := startChild(childSpec{
		path: p.spec.Runtime.Path,
		name: luajitName,
		dir:  p.spec.Dir,
		args: []string{"-e", `require("moonlap.bench.process").main()`},
		env: environ(append(uvShim(),
			"LUA_PATH="+luaPath(library)+";"+withDefault(os.Getenv("LUA_PATH")),
			"LUA_INIT=", // the user's is not part of what is measured
			"MOONLAP_JOB="+job,
			p.spec.Job.Pad(),
		)...),
		channels:       1,
		stdin:          p.spec.Stdin,
		stdout:         p.spec.Stdout,
		parentDeath:    syscall.SIGKILL,
		outliveOutputs: grace,
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", p.spec.Runtime.Path, err)
	}
	s := &supervisor{p: p, c: c}
	s.supervise(ctx, func() {})
	return nil
}

// luaPath are the patterns under which package.path finds the library.
func luaPath(library string) string {
	return library + "/?.lua;" + library + "/?/init.lua"
}

// withDefault keeps LuaJIT's own default path: ";;" stands for it.
func withDefault(path string) string {
	if path == "" {
		return ";"
	}
	return path
}

// Pad is an environment variable of a length that follows from the seed. The
// environment lies above the stack, so its size moves the stack and all that depends
// on it; with the same size in every process, one lucky or unlucky layout would pass
// for the code's own speed (Curtsinger and Berger, Stabilizer, ASPLOS 2013; Mytkowicz
// et al., Producing Wrong Data Without Doing Anything Obviously Wrong, ASPLOS 2009).
func (j Job) Pad() string {
	r := rand.New(rand.NewPCG(uint64(j.Seed), uint64(j.Process)))
	return "MOONLAP_PAD=" + strings.Repeat("x", r.IntN(4096))
}

// environ is our environment with some variables set anew, and our mark.
func environ(set ...string) []string {
	set = append(set, marked())
	names := map[string]bool{}
	for _, s := range set {
		name, _, _ := strings.Cut(s, "=")
		names[name] = true
	}
	var env []string
	for _, s := range os.Environ() {
		if name, _, _ := strings.Cut(s, "="); !names[name] {
			env = append(env, s)
		}
	}
	return append(env, set...)
}
