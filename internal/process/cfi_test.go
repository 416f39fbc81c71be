package process

import (
	"debug/elf"
	"os"
	"os/exec"
	"testing"
)

// own is the .eh_frame of a program that surely is here: a C one, with its address.
func own(t testing.TB) (data []byte, at uint64) {
	t.Helper()
	for _, name := range []string{"sh", "ls", "cat"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		f, err := elf.Open(path)
		if err != nil {
			continue
		}
		defer f.Close()
		if s := f.Section(".eh_frame"); s != nil {
			if data, err := s.Data(); err == nil {
				return data, s.Addr
			}
		}
	}
	t.Skip("no ELF program with .eh_frame here")
	return nil, 0
}

// TestEveryFunctionHasRules: each function of a real program has rules at each of its addresses, and
// at its first instruction nothing but the return address is on the stack.
func TestEveryFunctionHasRules(t *testing.T) {
	data, at := own(t)
	all, err := parseFrames(data, at)
	if err != nil || len(all) < 10 {
		t.Fatalf("%d functions, %v", len(all), err)
	}
	entries := 0
	for _, f := range all {
		for address := f.From; address < f.To; address++ {
			if _, err := f.row(address); err != nil {
				t.Fatalf("%#x of %#x: %v", address, f.From, err)
			}
		}
		if w, _ := f.row(f.From); w.register == dwRSP && w.offset == 8 && w.saved[dwReturn] == (rule{atOffset, -8}) {
			entries++
		}
	}
	// All but the linker's own stubs and parts of functions that were moved away.
	if entries < len(all)/2 {
		t.Errorf("%d of %d functions begin with nothing but a return address on the stack", entries, len(all))
	}
}

// TestRow runs a made-up program: push rbp, mov rbp; remember, restore.
func TestRow(t *testing.T) {
	common := &commonInfo{codeAlign: 1, dataAlign: -8, returnRegister: 16,
		program: []byte{0x0c, dwRSP, 8, 0x80 | dwReturn, 1}}
	f := Function{Interval: Interval{100, 200}, common: common, program: []byte{
		0x41, 0x0e, 16, 0x80 | dwRBP, 2, // 101: push rbp
		0x43, 0x0d, dwRBP, // 104: mov rsp, rbp
		0x0a, 0x50, 0x0c, dwRSP, 8, 0xc0 | dwRBP, // 120: an early return
		0x42, 0x0b, // 122: as before
	}}
	saved := rule{atOffset, -16}
	for _, c := range []struct {
		at       uint64
		register uint64
		offset   int64
		rbp      rule
	}{
		{100, dwRSP, 8, rule{}},
		{101, dwRSP, 16, saved},
		{103, dwRSP, 16, saved},
		{104, dwRBP, 16, saved},
		{120, dwRSP, 8, rule{}},
		{121, dwRSP, 8, rule{}},
		{122, dwRBP, 16, saved},
		{199, dwRBP, 16, saved},
	} {
		w, err := f.row(c.at)
		if err != nil {
			t.Fatal(err)
		}
		if w.register != c.register || w.offset != c.offset || w.saved[dwRBP] != c.rbp {
			t.Errorf("at %d: register %d + %d, rbp %v; want %d + %d, %v",
				c.at, w.register, w.offset, w.saved[dwRBP], c.register, c.offset, c.rbp)
		}
	}
	if n := f.constantFrame(); n != 0 {
		t.Errorf("a frame that changes is told to be always %d bytes", n)
	}
	if n := (&Function{common: common, program: []byte{0x0e, 80}}).constantFrame(); n != 80 {
		t.Errorf("constant frame of %d bytes, want 80", n)
	}
}

// TestEvaluate computes the expression that linkers write for the procedure linkage table: the frame
// is 8 bytes longer behind the push, the 11th byte of an entry of 16.
func TestEvaluate(t *testing.T) {
	plt := []byte{0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}
	for rip, want := range map[uint64]uint64{0x1000: 0x508, 0x100a: 0x508, 0x100b: 0x510, 0x100f: 0x510} {
		got, err := evaluate(plt, Registers{RIP: rip, RSP: 0x500}, &Reader{})
		if err != nil || got != want {
			t.Errorf("at %#x: %#x, %v; want %#x", rip, got, err, want)
		}
	}
	for _, bad := range [][]byte{nil, {0xff}, {0x08}, {0x70, 0}} {
		if _, err := evaluate(bad, Registers{}, &Reader{}); err == nil {
			t.Errorf("% x was computed", bad)
		}
	}
}

// FuzzParseFrames: any bytes are read without a panic, and the rules of what was found run.
func FuzzParseFrames(f *testing.F) {
	data, at := own(f)
	f.Add(data[:min(len(data), 2000)], at)
	f.Add([]byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, at uint64) {
		all, _ := parseFrames(data, at)
		for _, fn := range all[:min(len(all), 50)] {
			fn.row(fn.From)
			fn.row(fn.To - 1)
			fn.caller(nothing{}, Registers{}, fn.From)
		}
	})
}

type nothing struct{}

func (nothing) ReadAt([]byte, uint64) error { return os.ErrInvalid }

// TestSpoiledFrames changes each byte of real rules: nothing panics or runs away.
func TestSpoiledFrames(t *testing.T) {
	data, at := own(t)
	data = data[:min(len(data), 1500)]
	for i := range data {
		for _, b := range []byte{0, 0x7f, 0xff} {
			spoiled := append([]byte(nil), data...)
			spoiled[i] = b
			all, _ := parseFrames(spoiled, at)
			for _, fn := range all {
				fn.row(fn.To - 1)
			}
		}
	}
}
