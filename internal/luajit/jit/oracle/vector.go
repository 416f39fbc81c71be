package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/luajit/jit"
	"github.com/moonlap/moonlap/internal/process"
)

// A vector is a trace as the tests of package jit read it: see vector_test.go there.
type vector struct {
	Name      string
	Address   uint64
	Parts     []part
	Protos    []sourceProto
	Functions map[uint64]uint64
	Upvalues  map[uint64][]uint64
	TypeNames map[uint64][]uint64
	Builtins  map[uint64]string
	Refs      []piece
	Lines     map[int][]line
}

type part struct {
	At    uint64
	Bytes []byte
}

type sourceProto struct {
	jit.Proto
	Lines []int
}

type line struct{ Depth, Line int }

// vectors writes the traces that a program leaves.
func vectors(luajit, folder, program string) error {
	s, err := run(luajit, program, 0.2, func(int, string) (func() error, error) { return func() error { return nil }, nil })
	if err != nil {
		return err
	}
	defer s.end()
	name := strings.TrimSuffix(filepath.Base(program), ".lua")
	var all []vector
	for _, t := range s.traces {
		v, err := s.vector(fmt.Sprintf("%s %d", name, t.number), t)
		if errors.Is(err, jit.ErrTrace) { // LuaJIT drops single traces, too, and does not tell
			log.Printf("%v: left out", err)
			continue
		}
		if err != nil {
			return err
		}
		all = append(all, v)
	}
	f, err := os.Create(filepath.Join(folder, name+".json.gz"))
	if err != nil {
		return err
	}
	z, _ := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err := jsontext.NewEncoder(z).Encode(all); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	log.Printf("%s: %d traces", name, len(all))
	return f.Close()
}

// vector saves one trace with all that is read to find its lines, and the truth.
func (s *subject) vector(name string, t *trace) (vector, error) {
	v := vector{Name: name, Address: t.address, Functions: map[uint64]uint64{}, Upvalues: map[uint64][]uint64{}, TypeNames: map[uint64][]uint64{},
		Builtins: map[uint64]string{}, Lines: map[int][]line{}}
	saved := &saver{v: &v, memory: s.Process, source: s.VM.Bytecode(), lines: s.VM.Lines}
	read, err := jit.Read(saved, t.address)
	if err != nil {
		return v, fmt.Errorf("%s: %w", name, err)
	}
	if read.Address != t.from {
		return v, fmt.Errorf("%s: %w: another one has taken its place", name, jit.ErrTrace)
	}
	jit.NewMap(read, saved, 0)
	for _, c := range read.Constants { // more than is asked for today
		if c.Op == jit.KGC {
			saved.function(c.Value&(1<<47-1), 2)
		}
	}
	v.Refs = t.code
	for ref := range read.IR {
		for depth, number := range t.lines(ref) {
			v.Lines[ref] = append(v.Lines[ref], line{depth, number})
		}
	}
	return v, nil
}

// A saver is a process's memory and its bytecode, and keeps what is read.
type saver struct {
	v      *vector
	memory process.Memory
	source jit.Source
	lines  func(proto uint64) []int
}

func (s *saver) ReadAt(p []byte, address uint64) error {
	err := s.memory.ReadAt(p, address)
	known := func(one part) bool {
		return address >= one.At && address+uint64(len(p)) <= one.At+uint64(len(one.Bytes))
	}
	if err == nil && !slices.ContainsFunc(s.v.Parts, known) {
		s.v.Parts = append(s.v.Parts, part{address, slices.Clone(p)})
	}
	return err
}

func (s *saver) keep(p *jit.Proto) *jit.Proto {
	if p != nil && !slices.ContainsFunc(s.v.Protos, func(one sourceProto) bool { return one.Address == p.Address }) {
		s.v.Protos = append(s.v.Protos, sourceProto{*p, s.lines(p.Address)})
	}
	return p
}

func (s *saver) Proto(address uint64) *jit.Proto { return s.keep(s.source.Proto(address)) }

func (s *saver) At(pc uint64) *jit.Proto { return s.keep(s.source.At(pc)) }

func (s *saver) Lua(function uint64) uint64 {
	proto := s.source.Lua(function)
	if proto != 0 {
		s.v.Functions[function] = proto
	}
	return proto
}

func (s *saver) Upvalue(function uint64, n int) uint64 {
	value := s.source.Upvalue(function, n)
	for len(s.v.Upvalues[function]) <= n {
		s.v.Upvalues[function] = append(s.v.Upvalues[function], 0)
	}
	s.v.Upvalues[function][n] = value
	return value
}

func (s *saver) TypeName(function uint64, kind int) uint64 {
	const kinds = 14 // of values
	if name := s.source.TypeName(function, 0); name != 0 && s.v.TypeNames[function] == nil {
		for n := range kinds {
			s.v.TypeNames[function] = append(s.v.TypeNames[function], s.source.TypeName(function, n))
		}
	}
	return s.source.TypeName(function, kind)
}

func (s *saver) Builtin(function uint64) string {
	name := s.source.Builtin(function)
	if name != "" {
		s.v.Builtins[function] = name
	}
	return name
}

// function saves one of Lua, and those in its variables outside.
func (s *saver) function(address uint64, deep int) {
	const most = 60 // variables of a function
	s.TypeName(address, 0)
	s.Builtin(address)
	proto := s.Lua(address)
	if proto == 0 || deep == 0 {
		return
	}
	s.Proto(proto)
	for n := range most {
		value := s.source.Upvalue(address, n)
		if value == 0 {
			break
		}
		s.Upvalue(address, n)
		s.function(value&(1<<47-1), deep-1)
	}
}
