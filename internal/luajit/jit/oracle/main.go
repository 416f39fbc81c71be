// Command oracle asks a patched LuaJIT, which the script build makes, what is true of its traces: from which instruction of the IR the
// assembler made each piece of machine code, and in which line the recorder emitted that instruction.
//
//	build SOURCES TO                             makes the luajit; SOURCES is a folder with those of LuaJIT
//	oracle -luajit PATH vectors DIR PROGRAM…     writes each program's traces as DIR/NAME.json.gz, for the tests of package jit
//	oracle -luajit PATH samples PROGRAM…         samples the programs and compares each sample's line with the true one
//	oracle -luajit PATH instructions PROGRAM…    compares what a sample at each instruction of all traces would show
//
// A program is a file of Lua that returns a function of a number of rounds.
package main

import (
	"bufio"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/moonlap/moonlap/internal/worker"
)

// fromSnapshots reports that only snapshots are to tell lines.
var fromSnapshots bool

//go:embed wait.lua
var wait string

func main() {
	log.SetFlags(0)
	luajit := flag.String("luajit", "", "the patched `program` that build makes")
	seconds := flag.Float64("seconds", 2, "of CPU time that each program runs for samples")
	flag.BoolVar(&fromSnapshots, "snapshots", false, "show lines as of a build whose operations are not known")
	verbose := flag.Bool("v", false, "print what did not hold the true line")
	flag.Usage = func() {
		log.Println("usage: oracle -luajit PATH vectors DIR PROGRAM… | samples PROGRAM… | instructions PROGRAM…")
		flag.PrintDefaults()
	}
	flag.Parse()
	args := flag.Args()
	var err error
	switch {
	case *luajit == "" || len(args) < 2:
		flag.Usage()
		os.Exit(2)
	case args[0] == "vectors":
		for _, program := range args[2:] {
			if err = vectors(*luajit, args[1], program); err != nil {
				break
			}
		}
	case args[0] == "samples":
		err = samples(*luajit, args[1:], *seconds, *verbose)
	case args[0] == "instructions":
		err = instructions(*luajit, args[1:], *seconds, *verbose)
	default:
		err = fmt.Errorf("%s: vectors, samples or instructions?", args[0])
	}
	if err != nil {
		log.Fatal("oracle: ", err)
	}
}

// A subject is a program that has run under the patched LuaJIT and waits to be read.
type subject struct {
	*worker.Worker
	traces []*trace
	folder string
	cmd    *exec.Cmd
	stdin  io.Closer
}

// run runs a program for a time and reads what LuaJIT said; during is called with its process while it runs, and returns what is to be
// done when it has run.
func run(luajit, program string, seconds float64, during func(pid int, folder string) (after func() error, err error)) (s *subject, err error) {
	s = &subject{}
	if s.folder, err = os.MkdirTemp("", "moonlap-oracle."); err != nil {
		return nil, err
	}
	told, script := filepath.Join(s.folder, "told"), filepath.Join(s.folder, "wait.lua")
	if err := os.WriteFile(script, []byte(wait), 0o644); err != nil {
		return nil, err
	}
	s.cmd = exec.Command(luajit, script, program, strconv.FormatFloat(seconds, 'f', -1, 64))
	s.cmd.Env = append(os.Environ(), "LUAJIT_ORACLE="+told)
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	after, err := during(s.cmd.Process.Pid, s.folder)
	if err != nil {
		s.end()
		return nil, err
	}
	if _, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		err = fmt.Errorf("%s ended before its time: %w", program, err)
	} else if err = after(); err == nil {
		if s.traces, err = readTold(told); err == nil {
			s.Worker, err = worker.OpenProgram(s.cmd.Process.Pid)
		}
		if err == nil && fromSnapshots {
			s.VM.Layout.KnownIR = false
		}
	}
	if err != nil {
		s.end()
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return s, nil
}

// end ends the program.
func (s *subject) end() {
	if s.Worker != nil {
		s.Worker.Close()
	}
	s.stdin.Close()
	s.cmd.Wait()
	os.RemoveAll(s.folder)
}
