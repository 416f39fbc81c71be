package probe

import (
	"errors"
	"testing"
)

// TestCheapInAllocator: a probe sits where each call for memory passes, its arguments are in place, and the kernel emulates.
func TestCheapInAllocator(t *testing.T) {
	const luaJIT = "\x48\x85\xc9\x74\x1b\x48\x85\xf6\x74\x0e\x48\x89\xca\xe9\x00\x00\x00\x00" // lj_alloc_f of gcc 12
	for name, c := range map[string]struct {
		code string
		at   int // -1: refused
	}{
		"LuaJIT's, behind the jump to what frees": {luaJIT, 8},
		"with endbr64":                              {"\xf3\x0f\x1e\xfa" + luaJIT, 12},
		"jumps where there is something to do":      {"\x48\x85\xc9\x75\x02\xc3\xc3\x48\x85\xf6\x74\x02\xc3\xc3\xc3", 10},
		"a near jump to what frees":                 {"\x48\x85\xc9\x0f\x84\x00\x01\x00\x00\x48\x85\xf6\x0f\x84\x00\x01\x00\x00", 12},
		"saves registers first":                     {"\x53\x48\x89\xf3\x48\x85\xc9\x74\x01\xc3\xc3", 0},
		"saves registers, and frees elsewhere":      {"\x53\x48\x85\xc9\x74\x05\x48\x85\xf6\x74\x01\xc3\xc3", 9},
		"nothing cheap behind that jump":            {"\x48\x85\xc9\x74\x04\x48\x89\xce\xc3\xc3", 3},
		"moves the old size away, then calls":       {"\x48\x83\xec\x08\x48\x89\xca\xe8\x00\x00\x00\x00\xc3", -1},
		"writes half of an argument":                {"\x89\xca\x53\xc3", -1},
		"reads memory, and then is at its frame":    {"\x48\x8b\x07\x48\x8b\x00\x53\x5b\xc3", 6},
		"jumps back behind its entry":               {"\x48\x85\xf6\x53\x5b\x48\xff\xce\x75\xf9\xc3", -1},
		"returns at once":                           {"\xc3", -1},
		"no code":                                   {"", -1},
		"cut off in an instruction":                 {"\x48\x85", -1},
		"jumps on something else than the new size": {"\x48\x85\xf6\x74\x02\x53\xc3\xc3", 3},
	} {
		at, err := CheapInAllocator([]byte(c.code))
		switch {
		case c.at < 0 && !errors.Is(err, ErrDear):
			t.Errorf("%s: taken at %d: %v", name, at, err)
		case c.at >= 0 && (err != nil || at != c.at):
			t.Errorf("%s: at %d, not %d: %v", name, at, c.at, err)
		}
	}
}

// TestNoLongNops: no probe sits at a nop of five or ten bytes, which newer kernels replace by a call that writes to the stack.
func TestNoLongNops(t *testing.T) {
	for _, nop := range []string{"\x0f\x1f\x44\x00\x00", "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"} {
		code := []byte(nop + "\x53\xc3") // push
		entry, err := CheapAtEntry("f", append([]byte{}, "\x0f\x1f\x44\x00\x00\xe9\x00\x00\x00\x00"...))
		if err != nil || entry != 5 {
			t.Errorf("at %d before a jump: %v", entry, err)
		}
		at, err := CheapAt("f", code)
		if err != nil || at != uint64(len(nop)) {
			t.Errorf("% x: at %d: %v", code, at, err)
		}
		in, err := CheapInAllocator(code)
		if err != nil || in != len(nop) {
			t.Errorf("% x: at %d: %v", code, in, err)
		}
	}
}
