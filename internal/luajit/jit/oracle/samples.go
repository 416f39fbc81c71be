package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/luajit/jit"
)

// A score counts samples by what was said of their line.
type score struct{ all, right, ranges, held, none int }

func (s *score) add(first, last, truth int) {
	s.all++
	switch {
	case first == 0:
		s.none++
	case last > first:
		s.ranges++
		if truth >= first && truth <= last {
			s.held++
		}
	case first == truth:
		s.right++
	}
}

func (s *score) sum(o score) {
	s.all, s.right, s.ranges, s.held, s.none = s.all+o.all, s.right+o.right, s.ranges+o.ranges, s.held+o.held, s.none+o.none
}

func (s score) String() string {
	part := func(n, of int) string {
		if of == 0 {
			return "–"
		}
		return fmt.Sprintf("%.2f %%", 100*float64(n)/float64(of))
	}
	return fmt.Sprintf("%d | %s | %s | %s | %s", s.all, part(s.right, s.all-s.ranges-s.none), part(s.ranges, s.all), part(s.held, s.ranges), part(s.none, s.all))
}

// samples compares the line of each sample with the true one: of the instruction at which the clock found the program, as the alignment
// knows it, and of the instruction before, whose time that is (jit.Map.Sampled), as a profile shows it. So an error of the alignment is
// one thing, and what a clock cannot tell is another.
func samples(luajit string, programs []string, seconds float64, verbose bool) error {
	fmt.Println("| program | samples | line of the sampled instruction right | ranges | hold it | none | samples | line shown right | ranges | hold it | none |")
	fmt.Println("|" + strings.Repeat(" --- |", 11))
	var at, shown score
	for _, program := range programs {
		var missed misses
		if verbose {
			missed = misses{}
		}
		a, b, err := sampled(luajit, program, seconds, missed)
		if err != nil {
			return err
		}
		missed.print()
		fmt.Printf("| %s | %v | %v |\n", strings.TrimSuffix(filepath.Base(program), ".lua"), a, b)
		at.sum(a)
		shown.sum(b)
	}
	fmt.Printf("| all | %v | %v |\n", at, shown)
	return nil
}

// misses counts what was shown that does not hold the true line, where that is wanted.
type misses map[string]int

func (m misses) add(t *trace, machine uint64, first, last, truth int) {
	if m == nil || truth >= first && truth <= max(first, last) {
		return
	}
	ref := -1
	if p, ok := t.at(machine - 1); ok {
		ref = p.Ref
	}
	m[fmt.Sprintf("trace %d, %04d: line %d to %d, truly %d", t.number, ref, first, last, truth)]++
}

// print prints the most frequent ones.
func (m misses) print() {
	const most = 20
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return m[b] - m[a] })
	for _, key := range keys[:min(most, len(keys))] {
		log.Printf("  %d × %s", m[key], key)
	}
}

func sampled(luajit, program string, seconds float64, missed misses) (at, shown score, err error) {
	var data string
	s, err := run(luajit, program, seconds, func(pid int, folder string) (func() error, error) { return record(pid, folder, &data) })
	if err != nil {
		return at, shown, err
	}
	defer s.end()
	places, err := addresses(data)
	if err != nil {
		return at, shown, err
	}
	type known struct {
		*jit.Map
		loop uint64
	}
	maps := map[*trace]known{}
	for _, machine := range places {
		t := s.traceAt(machine)
		if t == nil {
			continue
		}
		m, ok := maps[t]
		if !ok {
			read, err := jit.Read(s.Process, t.address)
			if errors.Is(err, jit.ErrTrace) || err == nil && read.Address != t.from {
				continue // LuaJIT has dropped it
			}
			if err != nil {
				return at, shown, err
			}
			m = known{jit.NewMap(read, s.VM.Bytecode(), 0), read.Address + uint64(read.Loop)}
			maps[t] = m
		}
		if truth := t.truth(machine); truth != nil {
			place, _ := m.At(int(machine - t.from))
			if len(place) == 0 {
				at.add(0, 0, 0)
			} else {
				first, last := s.linesOf(place[len(place)-1])
				at.add(first, last, innermost(truth, len(place)))
			}
		}
		before := machine - 1
		if machine == m.loop && machine != t.from { // the loop's end comes before its beginning
			before = t.last() - 1
		}
		if truth := t.truth(before); truth != nil {
			frames := s.VM.Compiled(t.address, machine)
			if len(frames) == 0 {
				shown.add(0, 0, 0)
			} else {
				shown.add(frames[0].Line, frames[0].LastLine, innermost(truth, len(frames)))
				missed.add(t, machine, frames[0].Line, frames[0].LastLine, innermost(truth, len(frames)))
			}
		}
	}
	return at, shown, nil
}

// truth is the line of each function at a place in a trace, the outermost first; nil: what is there comes from no bytecode.
func (t *trace) truth(machine uint64) []int {
	if p, ok := t.at(machine); ok {
		return t.lines(p.Ref)
	}
	return nil
}

// last is where the machine code of the last instruction ends.
func (t *trace) last() (end uint64) {
	for _, p := range t.code {
		end = max(end, p.To)
	}
	return end
}

// innermost is the line of the function that is the innermost of N.
func innermost(truth []int, deep int) int { return truth[min(deep, len(truth))-1] }

func (s *subject) traceAt(machine uint64) *trace {
	for _, t := range s.traces {
		if machine >= t.from && machine < t.to {
			return t
		}
	}
	return nil
}

// linesOf are the first and the last line of a place; last is 0 where they are one.
func (s *subject) linesOf(c jit.Call) (first, last int) {
	for i, line := range s.VM.Lines(c.Proto) {
		const size = 0x68 // of a prototype, before its bytecode
		if pc := c.Proto + size + 4*uint64(i); c.Whole || pc >= c.From && pc <= c.To {
			if first == 0 || line < first {
				first = line
			}
			last = max(last, line)
		}
	}
	if last == first {
		last = 0
	}
	return first, last
}

// record samples a process by the CPU clock with perf until it is told to stop.
func record(pid int, folder string, data *string) (stop func() error, err error) {
	*data = filepath.Join(folder, "perf.data")
	var said bytes.Buffer
	cmd := exec.Command("perf", "record", "-q", "-e", "cpu-clock:u", "-F", "1999", "-o", *data, "-p", strconv.Itoa(pid))
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("perf: %w", err)
	}
	return func() error {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		if _, err := os.Stat(*data); err != nil {
			return fmt.Errorf("perf record: %s", said.String())
		}
		return nil
	}, nil
}

// addresses are those of all samples.
func addresses(data string) (all []uint64, err error) {
	out, err := exec.Command("perf", "script", "-i", data, "-F", "ip").Output()
	if err != nil {
		return nil, fmt.Errorf("perf script: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		machine, err := strconv.ParseUint(strings.TrimSpace(lines.Text()), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("perf script: %w", err)
		}
		all = append(all, machine)
	}
	return all, nil
}
