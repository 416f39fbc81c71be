package luajit

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/process/processtest"
)

// health makes a machine of the image that a test of the room worker saves with -save: a worker that
// was made to blacklist a loop (line 33 of its watched.lua), with a coroutine that waits in ngx.sleep (line 22).
func health(t rapid.TB) (vm *VM, image *processtest.Image, coroutine uint64) {
	t.Helper()
	b, err := os.ReadFile("testdata/health/health.image")
	if err != nil {
		t.Fatal(err)
	}
	if image, err = processtest.ReadImage(bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	var about struct {
		VM        VM
		Coroutine uint64
	}
	if err := json.Unmarshal(image.About, &about); err != nil {
		t.Fatal(err)
	}
	about.VM.Memory = image
	return &about.VM, image, about.Coroutine
}

func TestHealth(t *testing.T) {
	vm, _, coroutine := health(t)
	gc, err := vm.GC()
	if err != nil || gc.InUse < 100_000 || gc.Threshold < gc.InUse/2 || gc.Stopped() || gc.Phase.String() == "unknown" {
		t.Errorf("%+v, %v", gc, err)
	}
	j, err := vm.JIT()
	if err != nil || j.Root+j.Side != vm.TraceCount() || j.Code == 0 || j.Area < j.Code || j.Area%4096 != 0 {
		t.Errorf("%+v, %v", j, err)
	}
	i := slices.IndexFunc(j.Aborts, func(a Abort) bool { return a.Line == 33 && strings.HasSuffix(a.File, "watched.lua") })
	if i < 0 || !j.Aborts[i].Blacklisted || !j.Aborts[i].Loop || j.Aborts[i].Reason != "NYI: bytecode" {
		t.Errorf("aborts %+v", j.Aborts)
	}
	list, err := vm.Blacklist(time.Minute)
	if err != nil || !list.Whole || len(list.Places) != 1 || list.Places[0].pc != j.Aborts[max(i, 0)].pc {
		t.Errorf("blacklist %+v, %v", list, err)
	}
	frames, err := vm.Suspended(coroutine)
	var lines []int
	for _, f := range frames {
		if f.Kind == Lua {
			lines = append(lines, f.Line)
		}
	}
	if err != nil || frames[0].Kind != C || len(lines) == 0 || lines[0] != 22 {
		t.Errorf("frames %+v, %v", frames, err)
	}
}

// blacklisted is a frame in the middle of the loop that is blacklisted.
func blacklisted(vm *VM) (Frame, bool) {
	j, _ := vm.JIT()
	for _, a := range j.Aborts {
		if a.Blacklisted && a.Loop {
			return Frame{Kind: Lua, proto: a.proto, pc: a.pc - 4}, true
		}
	}
	return Frame{Kind: Lua, proto: vm.Global, pc: vm.Global + protoSize + 8}, false
}

// TestUncompiled: what is inside of the loop was interpreted because of its closure; what is outside, because of the
// function, which LuaJIT has tried to compile less often.
func TestUncompiled(t *testing.T) {
	vm, _, _ := health(t)
	frame, ok := blacklisted(vm)
	if !ok {
		t.Fatal("no loop is blacklisted")
	}
	c := NewCompiler(vm)
	got := c.Uncompiled([]Frame{{Kind: Builtin, Function: "ipairs_aux"}, frame})
	if got.Why != Blacklisted || !got.Loop || got.Line != 33 || got.Reason != "NYI: bytecode" || len(got.Obstacles) != 1 || got.Obstacles[0].Code != "FNEW" {
		t.Errorf("%+v", got)
	}
	if again := c.Uncompiled([]Frame{frame}); again != got {
		t.Errorf("equal results do not share their memory: %+v", again)
	}
	outside := frame
	outside.pc = frame.proto + protoSize + 4 // the function's first instruction
	if got := c.Uncompiled([]Frame{outside}); got.Why != Penalized || got.Loop || got.Line != 31 || got.Reason != "NYI: bytecode" {
		t.Errorf("before the loop: %+v", got)
	}
	if got := c.Uncompiled([]Frame{{Kind: C}}); got.Why != NotKnown || got.Kind != "" {
		t.Errorf("no Lua: %+v", got)
	}
	if got := c.Uncompiled([]Frame{{Kind: Lua, proto: 8, pc: 16}}); got.Why != NotKnown {
		t.Errorf("unreadable: %+v", got)
	}
}

// counting counts what is read: memory that is garbage must not be read without end.
type counting struct {
	process.Memory
	reads int
}

func (c *counting) ReadAt(b []byte, address uint64) error {
	c.reads++
	return c.Memory.ReadAt(b, address)
}

func readHealth(vm *VM, coroutine uint64) (reads int) {
	c := &counting{Memory: vm.Memory}
	vm.Memory = c
	vm.GC()
	vm.JIT()
	vm.Blacklist(time.Minute)
	vm.Suspended(coroutine)
	vm.Entry(coroutine)
	frame, _ := blacklisted(vm)
	compiler := NewCompiler(vm)
	compiler.Uncompiled([]Frame{frame, frame})
	compiler.Refresh()
	vm.Exit(1 | 1<<32)
	return c.reads
}

// TestSpoiltHealth exchanges words of the machine's memory: reading ends, with figures or an error.
func TestSpoiltHealth(t *testing.T) {
	vm, image, coroutine := health(t)
	rapid.Check(t, func(t *rapid.T) {
		type change struct {
			at     []byte
			before [8]byte
		}
		var changes []change
		word := func(name string) []byte {
			part := image.Parts[rapid.IntRange(0, len(image.Parts)-1).Draw(t, name)].Bytes
			if len(part) < 8 {
				return make([]byte, 8)
			}
			at := 8 * rapid.IntRange(0, len(part)/8-1).Draw(t, name+" word")
			return part[at : at+8]
		}
		for range rapid.IntRange(1, 40).Draw(t, "words") {
			to := word("to")
			c := change{at: to}
			copy(c.before[:], to)
			changes = append(changes, c)
			copy(to, word("from"))
		}
		spoilt := *vm
		if n := readHealth(&spoilt, coroutine); n > 2_000_000 {
			t.Errorf("%d reads", n)
		}
		for _, c := range slices.Backward(changes) {
			copy(c.at, c.before[:])
		}
	})
}

// TestFilledHealth reads memory that is the same everywhere, and never fails.
func TestFilledHealth(t *testing.T) {
	vm, _, coroutine := health(t)
	for _, word := range []uint64{
		0, 1, 8, 0x0b, 0x1000, 1<<64 - 1, 0x0404_0404_0404_0404, 0x0707_0707_0707_0707, 0x0808_0808_0808_0808, vm.Global, 0x100, 0x14_005f_0000_145f,
	} {
		memory := &filled{word: word}
		garbage := *vm
		garbage.Memory = memory
		readHealth(&garbage, coroutine)
		const most = 3_000_000
		if memory.reads > most {
			t.Errorf("%#x everywhere: %d reads", word, memory.reads)
		}
	}
}

// TestPlausible: the slots in use are those before the next one, all around.
func TestPlausible(t *testing.T) {
	slots := func(used ...int) []uint64 {
		all := make([]uint64, penaltySlots*penaltyWords)
		for _, n := range used {
			all[penaltyWords*n], all[penaltyWords*n+1] = 0x7f00_0000_1000, 7<<16|72
		}
		return all
	}
	full := make([]int, penaltySlots)
	for i := range full {
		full[i] = i
	}
	for _, c := range []struct {
		slots []uint64
		next  int
		want  bool
	}{
		{slots(0, 1, 2), 3, true},
		{slots(63, 0, 1), 2, true}, // after a flush, which clears the slots alone
		{slots(full...), 17, true},
		{slots(), 0, false}, // says nothing
		{slots(1, 2, 3), 3, false},
		{slots(0, 1, 2), 64, false},
		{slots(0, 2), 3, false},
		{append(slots(0)[:penaltyWords*1], append([]uint64{5, 72}, slots()[penaltyWords*2:]...)...), 2, false}, // no address
	} {
		if got := plausible(c.slots, c.next); got != c.want {
			t.Errorf("next %d: %v", c.next, got)
		}
	}
}
