package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The three that do the same work.
var sideNames = []string{"C", "luv", "moonlap.uv"}

// A process that hangs is ended after this, and its side of the work counts as failed.
const patience = 2 * time.Minute

// sides knows how to start each side's programs. The C ones are built into folder.
type sides struct {
	here, folder string
	broken       map[string]string // folder of a C program that could not be built: why
}

func newSides(ctx context.Context, list []work) (*sides, error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(here, "measure.lua")); err != nil {
		return nil, errors.New("run it in benchmarks/uv, where the programs are")
	}
	folder, err := os.MkdirTemp("", "moonlap-uv-")
	if err != nil {
		return nil, err
	}
	s := &sides{here, folder, map[string]string{}}
	tried := map[string]bool{}
	for _, w := range list {
		if tried[w.Folder] {
			continue
		}
		tried[w.Folder] = true
		cmd := exec.CommandContext(ctx, "cc", "-std=gnu99", "-O2", "-I.", "-o", filepath.Join(folder, w.Folder),
			filepath.Join(w.Folder, "c.c"), "-luv")
		if text, err := cmd.CombinedOutput(); err != nil {
			s.broken[w.Folder] = reason("cc", err, text)
		}
	}
	return s, ctx.Err()
}

func (s *sides) close() { os.RemoveAll(s.folder) }

// run does a work once and returns its CPU seconds and how many operations those were for.
func (s *sides) run(ctx context.Context, side string, w work, operations int) (seconds, done float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd, err := s.command(ctx, side, w, w.Args(fmt.Sprint(operations)))
	if err != nil {
		return 0, 0, err
	}
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		if ctx.Err() == context.DeadlineExceeded {
			err = fmt.Errorf("did not end within %v", patience)
		}
		why := reason(cmd.Args[0], err, complaint.Bytes())
		return 0, 0, errors.New(strings.ReplaceAll(why, s.here+"/", ""))
	}
	if _, err := fmt.Sscan(out.String(), &seconds, &done); err != nil || !(seconds > 0) || !(done > 0) {
		return 0, 0, fmt.Errorf("printed %q instead of seconds and operations", out.String())
	}
	return seconds, done, nil
}

func (s *sides) command(ctx context.Context, side string, w work, args []string) (*exec.Cmd, error) {
	if side == "C" {
		if why, is := s.broken[w.Folder]; is {
			return nil, errors.New(why)
		}
		return exec.CommandContext(ctx, filepath.Join(s.folder, w.Folder), args...), nil
	}
	program := filepath.Join(w.Folder, "uv.lua")
	cmd := exec.CommandContext(ctx, "luajit", append([]string{program, side}, args...)...)
	root := filepath.Join(s.here, "..", "..")
	cmd.Env = append(os.Environ(),
		"LUA_PATH="+strings.Join([]string{s.here + "/?.lua", root + "/lua/?.lua", root + "/lua/?/init.lua",
			os.Getenv("LUA_PATH") + ";"}, ";"),
		"LUA_CPATH="+strings.Join([]string{os.Getenv("LUA_CPATH"), debian(), ";"}, ";"))
	return cmd, nil
}

// debian is where Debian's lua-luv lies, in which LuaJIT itself does not look.
func debian() string {
	found, _ := filepath.Glob("/usr/lib/*/lua/5.1/luv.so")
	if len(found) == 0 {
		return ""
	}
	return filepath.Join(filepath.Dir(found[0]), "?.so")
}

// reason is why a program failed, in one line: what it said first, or how it ended.
func reason(program string, err error, said []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	if line == "" {
		return fmt.Sprintf("%s: %v", filepath.Base(program), err)
	}
	return line
}
