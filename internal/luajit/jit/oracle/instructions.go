package main

import (
	"fmt"
	"log"
	"path/filepath"
	"strings"

	"github.com/moonlap/moonlap/internal/luajit/jit"
)

// instructions compares the line that a sample behind each instruction would show with the true one. Each counts once, however often it
// runs, so that two runs differ by the traces alone.
func instructions(luajit string, programs []string, seconds float64, verbose bool) error {
	fmt.Println("| program | instructions | line right | ranges | hold it | none |")
	fmt.Println("|" + strings.Repeat(" --- |", 6))
	var sum score
	for _, program := range programs {
		s, err := run(luajit, program, seconds, func(int, string) (func() error, error) { return func() error { return nil }, nil })
		if err != nil {
			return err
		}
		var all score
		var missed misses
		if verbose {
			missed = misses{}
			log.Print(program)
		}
		for _, t := range s.traces {
			s.eachPiece(t, &all, missed)
		}
		s.end()
		missed.print()
		fmt.Printf("| %s | %v |\n", strings.TrimSuffix(filepath.Base(program), ".lua"), all)
		sum.sum(all)
	}
	fmt.Printf("| all | %v |\n", sum)
	return nil
}

// eachPiece shows what is seen behind each instruction of the IR's machine code.
func (s *subject) eachPiece(t *trace, all *score, missed misses) {
	read, err := jit.Read(s.Process, t.address)
	if err != nil || read.Address != t.from { // LuaJIT has dropped it
		return
	}
	loop := t.from + uint64(read.Loop) // what comes before that is the loop's end
	for _, p := range t.code {
		truth := t.lines(p.Ref)
		if truth == nil || p.To >= t.to || p.To == loop {
			continue
		}
		frames := s.VM.Compiled(t.address, p.To)
		if len(frames) == 0 {
			all.add(0, 0, 0)
			continue
		}
		line := innermost(truth, len(frames))
		all.add(frames[0].Line, frames[0].LastLine, line)
		missed.add(t, p.To, frames[0].Line, frames[0].LastLine, line)
	}
}
