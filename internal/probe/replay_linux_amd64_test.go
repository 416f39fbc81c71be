package probe

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/process/processtest"
)

// replayer compiles the walker of the kernel as an ordinary program.
func replayer(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "replay")
	out, err := exec.Command(need(t, "gcc"), "-O1", "-g", "-Wall", "-Wextra", "-Werror",
		"-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o", program, "testdata/replay.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// A replay is a walker at work on one image.
type replay struct {
	vm     *luajit.VM
	image  *processtest.Image
	golden string // what the walk in Go finds, as JSON
	orders io.Writer
	moment *bufio.Reader
}

// start starts the walker on an image of the room luajit.
func start(t *testing.T, program, file string) *replay {
	t.Helper()
	return startAt(t, program, file, Target{}, func(*replay) []processtest.Part { return nil })
}

// startAt starts it on what is known of the target, and on an image that has more memory.
func startAt(t *testing.T, program, file string, target Target, more func(*replay) []processtest.Part) *replay {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(file + ".json")
	if err != nil {
		t.Fatal(err)
	}
	image, err := processtest.ReadImage(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	r := &replay{vm: &luajit.VM{}, image: image, golden: strings.TrimSpace(string(golden))}
	if err := json.Unmarshal(image.About, r.vm); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("%v\n%s", err, complaints.String())
		}
	})
	var head bytes.Buffer
	const stack = 16 << 10                     // bytes, more than any image has
	if target.VM = r.vm; target.Other != nil { // which is at rest: the machine of the image is the other one
		idle := *r.vm
		idle.Global = target.Other.Global
		target.VM, target.Other = &idle, r.vm
	}
	r.write(&head, describe(target, image.Registers.RSP+stack))
	r.write(&head, registersOf(image.Registers))
	// What the walk in Go did not read was there all the same: the machine stack, and that the running coroutine is
	// one, of this machine.
	running := (&process.Reader{Memory: image}).U64(r.vm.Global + r.vm.Layout.CurrentL)
	const thread = 6
	parts := append([]processtest.Part{
		{Address: image.Registers.RSP, Bytes: make([]byte, stack)},
		{Address: running + 9, Bytes: []byte{thread}},
		{Address: running + r.vm.Layout.GlobalState, Bytes: binary.LittleEndian.AppendUint64(nil, r.vm.Global)},
	}, image.Parts...)
	parts = append(parts, more(r)...)
	r.write(&head, uint64(len(parts)))
	for _, p := range parts {
		r.write(&head, []uint64{p.Address, uint64(len(p.Bytes))})
		head.Write(p.Bytes)
	}
	if _, err := head.WriteTo(in); err != nil {
		t.Fatal(err, complaints.String())
	}
	r.orders, r.moment = in, bufio.NewReader(out)
	return r
}

func (r *replay) write(to io.Writer, value any) {
	if err := binary.Write(to, binary.LittleEndian, value); err != nil {
		panic(err)
	}
}

// registersOf are in the order of moment.h.
func registersOf(r process.Registers) []uint64 {
	return []uint64{r.RIP, r.RSP, r.RBP, r.RBX, r.RDX, r.R12, r.R13, r.R14, r.R15, r.RDI}
}

// Orders, see replay.c.
const (
	asItIs     = 0
	changed    = 1
	everywhere = 2
)

// walk has the memory walked, and returns what the kernel would hand over.
func (r *replay) walk(t *testing.T, order, address, value uint64) []byte {
	t.Helper()
	r.write(r.orders, []uint64{order, address, value})
	b := make([]byte, headSize)
	if _, err := io.ReadFull(r.moment, b); err != nil {
		t.Fatalf("order %d, %#x at %#x: %v", order, value, address, err)
	}
	b = append(b, make([]byte, binary.LittleEndian.Uint32(b))...)
	if _, err := io.ReadFull(r.moment, b[headSize:]); err != nil {
		t.Fatal(err)
	}
	return b
}

func images(t *testing.T) []string {
	files, _ := filepath.Glob("../luajit/testdata/*.image")
	if len(files) < 5 {
		t.Fatalf("%d images of the room luajit", len(files))
	}
	return files
}

// passing is the image's memory, but for what a running worker changes: its stacks, coroutines,
// functions that may be collected, and the machine's state. Reading these is an error.
type passing struct {
	image  *processtest.Image
	absent []process.Interval
}

func (p *passing) ReadAt(b []byte, address uint64) error {
	for _, a := range p.absent {
		if a.Contains(address) {
			return fmt.Errorf("%d bytes at %#x are read from the running worker: %#x", len(b), address, a)
		}
	}
	if p.image.ReadAt(b, address) == nil {
		return nil
	}
	// As in replay.c, bytes that the walk in Go has not read are zero, next to those that it has.
	var err error
	any := false
	for i := range b {
		one := p.image.ReadAt(b[i:i+1], address+uint64(i))
		if any = any || one == nil; one != nil {
			b[i], err = 0, one
		}
	}
	if any {
		return nil
	}
	return err
}

// lasting is what user space may read later.
func (r *replay) lasting(m *Snapshot) *passing {
	const (
		coroutine, function = 0x70, 0x30 // bytes
		slots               = 24         // bytes of a frame
		pointer             = 1<<47 - 1
	)
	p := &passing{image: r.image}
	away := func(from, size uint64) { p.absent = append(p.absent, process.Interval{From: from, To: from + size}) }
	// Between these two stand copies of an instruction, which is the same for good.
	away(r.vm.Global, r.vm.Layout.CurrentL-8)
	away(r.vm.Global+r.vm.Layout.CurrentL, r.vm.Layout.JITBase+8-r.vm.Layout.CurrentL)
	away(r.image.Registers.RSP, 1<<20)
	// Coroutines that resumed the running one: see Stack in the room luajit.
	read := &process.Reader{Memory: r.image}
	const size, returns, runs = 0x50, 0x48, 0x10 // of the interpreter's C frame
	frame := read.U64(read.U64(r.vm.Global+r.vm.Layout.CurrentL)+r.vm.Layout.CFrame) &^ 3
	for r.vm.Asm.Contains(read.U64(frame + returns)) {
		frame += size
		away(read.U64(frame+runs), coroutine)
	}
	const number, head = 0x68, 0x70 // of a trace
	state := uint64(read.U32(r.vm.Global + r.vm.Layout.VMState))
	for _, c := range m.chunks {
		if len(c.bytes) == head && uint64(binary.LittleEndian.Uint16(c.bytes[number:])) == state && state != 0 {
			continue // whether the trace is there still is found out later
		}
		away(c.address, uint64(len(c.bytes)))
		word := func(at uint64) uint64 { return binary.LittleEndian.Uint64(c.bytes[at:]) }
		switch len(c.bytes) {
		case coroutine:
			bottom, base := word(r.vm.Layout.Stack), word(r.vm.Layout.Base)
			away(bottom, max(base, bottom)-bottom)
		case slots:
			if f := word(8) & pointer; (&process.Reader{Memory: r.image}).U8(f+9) == 8 {
				away(f, function)
			}
		}
	}
	return p
}

// TestReplay walks saved memory with the walker of the kernel, and then its copy with that of Go: the frames
// are those of a worker that stands still, and nothing that changes is read later.
func TestReplay(t *testing.T) {
	program := replayer(t)
	for _, file := range images(t) {
		walks := func(t *testing.T, r *replay) {
			m, err := decode(r.walk(t, asItIs, 0, 0), r.vm.Layout.Stack)
			if err != nil {
				t.Fatal(err)
			}
			stack, err := r.vm.At(m.Over(r.lasting(m))).Stack(m.Registers)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(stack, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.golden, string(got)); diff != "" {
				t.Errorf("(- standing still, + from the copy)\n%s", diff)
			}
		}
		t.Run(filepath.Base(file), func(t *testing.T) { walks(t, start(t, program, file)) })
		t.Run(filepath.Base(file)+", beside a machine at rest", func(t *testing.T) {
			const global = 0x7000_0000
			walks(t, startAt(t, program, file, Target{Other: &luajit.VM{Global: global}}, func(*replay) []processtest.Part {
				return []processtest.Part{{Address: global, Bytes: make([]byte, 4096)}}
			}))
		})
	}
}

// TestReplayGarbled changes words of the memory, as a corrupt heap would be, and has all of it read as one word:
// the walk ends, the sanitizers find nothing, and what is handed over makes sense as far as it goes.
func TestReplayGarbled(t *testing.T) {
	program := replayer(t)
	for _, file := range images(t) {
		r := start(t, program, file)
		words := []uint64{0, 3, 1<<64 - 1, r.vm.Global, r.vm.Asm.From + 11, r.image.Registers.RSP}
		check := func(b []byte) {
			m, err := decode(b, r.vm.Layout.Stack)
			if err != nil {
				t.Fatal(err)
			}
			r.vm.At(m.Over(r.image)).Stack(m.Registers) // ends, with frames or an error
		}
		for _, word := range words {
			check(r.walk(t, everywhere, 0, word))
			for _, p := range r.image.Parts {
				for at := p.Address; at < p.Address+uint64(len(p.Bytes)); at += 8 {
					check(r.walk(t, changed, at, word))
				}
			}
		}
	}
}

// TestDecodeGarbled changes words of what the kernel hands over: it is read or refused.
func TestDecodeGarbled(t *testing.T) {
	r := start(t, replayer(t), images(t)[0])
	b := r.walk(t, asItIs, 0, 0)
	for n := range b {
		if _, err := decode(b[:n], r.vm.Layout.Stack); n < headSize && !errors.Is(err, errSnapshot) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	for at := 0; at+4 <= len(b); at += 4 {
		for _, word := range []uint32{0, 1, 1 << 20, 1<<32 - 1} {
			garbled := slices.Clone(b)
			binary.LittleEndian.PutUint32(garbled[at:], word)
			if m, err := decode(garbled, r.vm.Layout.Stack); err == nil {
				r.vm.At(m.Over(r.image)).Stack(m.Registers)
			}
		}
	}
}

// need skips a test for want of a program, unless MOONLAP_TEST_REQUIRE_ALL is set.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil && os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	return path
}
