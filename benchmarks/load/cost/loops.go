package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/benchmarks/load/target"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// onLoop is a client in Lua on a library's event loop, which does nothing but send and count: see uv.lua.
func onLoop(library string) client {
	return client{library, func(s *target.Server, w work, seconds int) (float64, error) {
		cmd := target.Pinned("luajit", "cost/uv.lua", library, s.Address(w.Scheme), strconv.Itoa(w.Connections), strconv.Itoa(seconds))
		lua, err := filepath.Abs("../../lua")
		if err != nil {
			return 0, err
		}
		luv, _ := filepath.Glob("/usr/lib/*/lua/5.1/luv.so") // Debian's, where LuaJIT itself does not look
		cpath := ";;"
		for _, file := range luv {
			cpath = filepath.Join(filepath.Dir(file), "?.so") + ";" + cpath
		}
		cmd.Env = append(os.Environ(), fmt.Sprintf("LUA_PATH=%s/?.lua;%s/?/init.lua;;", lua, lua), "LUA_CPATH="+cpath)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		if err := cmd.Run(); err != nil {
			return 0, err
		}
		n, _, _ := strings.Cut(out.String(), " ")
		done, err := strconv.ParseFloat(n, 64)
		return perRequest(cmd, done, err)
	}}
}

// runLoops compares the plain load, which parses, times and counts, with loops that do none of it.
func runLoops(ctx context.Context, s *target.Server, rounds, seconds int) error {
	list := append(clients[:len(clients):len(clients)], onLoop("moonlap.uv"), onLoop("luv"))
	fmt.Print("| connections | client | µs | moonlap load / client |\n| --- | --- | --- | --- |\n")
	for _, c := range []int{32, 128} {
		w := work{Name: "plain", Scheme: "http", Connections: c}
		costs, err := interleaved(ctx, s, w, list, rounds, seconds)
		if err != nil {
			return err
		}
		for _, one := range list {
			of, _ := estimate.MedianInterval(ratios(costs["moonlap"], costs[one.name]), level)
			ratio := interval(of)
			if one.name == "moonlap" {
				ratio = ""
			}
			fmt.Printf("| %d | %s | %.2f | %s |\n", c, one.name, estimate.Median(costs[one.name])/1e3, ratio)
		}
	}
	return nil
}

// interleaved runs a work with each client once a round, in random order: ns a request, by client.
func interleaved(ctx context.Context, s *target.Server, w work, list []client, rounds, seconds int) (map[string][]float64, error) {
	costs := map[string][]float64{}
	for round := range rounds {
		for _, i := range rand.Perm(len(list)) {
			fmt.Fprintf(os.Stderr, "\r\033[Kround %d of %d: %s, %s", round+1, rounds, list[i].name, w.name())
			ns, err := list[i].run(s, w, seconds)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", list[i].name, w.name(), err)
			}
			costs[list[i].name] = append(costs[list[i].name], ns)
		}
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	return costs, nil
}
