package luajit

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/process/processtest"
)

var update = flag.Bool("update", false, "write what the saved images say as what is wanted")

// load makes a machine of an image, which the tests of the room worker save with -save.
func load(t testing.TB, file string) (*VM, *processtest.Image) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	image, err := processtest.ReadImage(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	vm := &VM{}
	if err := json.Unmarshal(image.About, vm); err != nil {
		t.Fatal(err)
	}
	vm.Memory = image
	return vm, image
}

func images(t testing.TB) []string {
	files, _ := filepath.Glob("testdata/*.image")
	if len(files) < 5 {
		t.Fatalf("%d images in testdata", len(files))
	}
	return files
}

// TestImages walks the Lua stacks of saved workers of Debian 12's nginx and luajit2.
func TestImages(t *testing.T) {
	for _, file := range images(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			vm, image := load(t, file)
			stack, err := vm.Stack(image.Registers)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(stack, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := file + ".json"
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
				t.Errorf("(- want, + got)\n%s", diff)
			}
		})
	}
}

// TestGarbledImages changes words of a saved worker's memory, as a corrupt heap would be: a walk ends,
// with frames or an error, and never runs away.
func TestGarbledImages(t *testing.T) {
	for _, file := range images(t) {
		vm, image := load(t, file)
		for p := range image.Parts {
			part := image.Parts[p].Bytes
			for at := 0; at+8 <= len(part); at += 8 {
				before := append([]byte(nil), part[at:at+8]...)
				for _, garbage := range []uint64{0, 3, 1<<64 - 1, image.Parts[p].Address, 0x7ff8_0000_0000_0000} {
					for i := range 8 {
						part[at+i] = byte(garbage >> (8 * i))
					}
					if s, err := vm.Stack(image.Registers); err == nil && len(s.Frames) > maxFrames*maxCoroutines {
						t.Fatalf("%s: %d frames", file, len(s.Frames))
					}
				}
				copy(part[at:], before)
			}
		}
	}
}

// cut is memory of which a part was left out.
type cut struct {
	process.Memory
	absent process.Interval
}

func (c *cut) ReadAt(b []byte, address uint64) error {
	if c.absent.Contains(address) {
		return process.ErrLeftOut
	}
	return c.Memory.ReadAt(b, address)
}

// TestLeftOut: of a stack that was too deep to be copied whole, the innermost frames are reported, a mark for
// the others, and where the C frames go on.
func TestLeftOut(t *testing.T) {
	for _, file := range images(t) {
		vm, image := load(t, file)
		whole, err := vm.Stack(image.Registers)
		if err != nil {
			t.Fatal(err)
		}
		r := vm.reader()
		bottom := r.U64(whole.Current + vm.Layout.Stack)
		base := r.U64(vm.Global + vm.Layout.JITBase)
		if base == 0 {
			base = r.U64(whole.Current + vm.Layout.Base)
			if vm.Asm.Contains(image.Registers.RIP) {
				base = image.Registers.RDX
			}
		}
		if link := r.U64(base - 8); link&frameTypes == frameVararg { // the function's own frame lies behind its arguments
			base -= link &^ frameTypes
		}
		const innermost = 16 // bytes: its function and its link
		vm.Memory = &cut{image, process.Interval{From: bottom + 8, To: base - innermost}}
		some, err := vm.Stack(image.Registers)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		n := len(some.Frames) - 1
		if some.Frames[n].Function != LeftOut || n == 0 || n >= len(whole.Frames) {
			t.Errorf("%s: %+v of %+v", file, some.Frames, whole.Frames)
		}
		if diff := cmp.Diff(whole.Frames[:n], some.Frames[:n], cmp.AllowUnexported(Frame{})); diff != "" {
			t.Errorf("%s: (- whole, + cut)\n%s", file, diff)
		}
		if some.Caller != whole.Caller {
			t.Errorf("%s: C goes on at %+v, not %+v", file, some.Caller, whole.Caller)
		}
	}
}

// ending is memory that may be read N times, as of a process that may not stand still for longer.
type ending struct {
	process.Memory
	left int
}

func (e *ending) ReadAt(b []byte, address uint64) error {
	if e.left--; e.left < 0 {
		return process.ErrLeftOut
	}
	return e.Memory.ReadAt(b, address)
}

// TestEnding: wherever a walk has to end, each frame that it gives back was read whole.
func TestEnding(t *testing.T) {
	for _, file := range images(t) {
		vm, image := load(t, file)
		whole, err := vm.Stack(image.Registers)
		if err != nil {
			t.Fatal(err)
		}
		for n, ended := 0, true; ended; n++ {
			vm, image := load(t, file)
			e := &ending{image, n}
			vm.Memory = e
			some, err := vm.Stack(image.Registers)
			if ended = e.left < 0; err != nil {
				continue
			}
			for i, f := range some.Frames {
				if f.Function == LeftOut && f.Kind == Builtin {
					break
				}
				if f != whole.Frames[i] {
					t.Fatalf("%s, %d reads: %+v, not %+v", file, n, f, whole.Frames[i])
				}
			}
		}
	}
}

// A filled memory has the same eight bytes everywhere: nothing that is read of it ever fails.
type filled struct {
	word  uint64
	reads int
}

func (f *filled) ReadAt(b []byte, address uint64) error {
	f.reads++
	for i := range b {
		b[i] = byte(f.word >> (8 * ((address + uint64(i)) % 8)))
	}
	return nil
}

// TestFilled walks memory that is garbage and can be read everywhere: the walk ends soon.
func TestFilled(t *testing.T) {
	vm, image := load(t, images(t)[0])
	for _, word := range []uint64{
		0, 1, 3, 8, 0x0b, 0x10, 0x13, 0x1000, 1<<64 - 1, 0x0808_0808_0808_0808, 0x0b0b_0b0b_0b0b_0b0b, 0x7ff8_0000_0000_0000,
		vm.Global, vm.Asm.From, vm.Asm.From + 11,
	} {
		memory := &filled{word: word}
		vm.Memory = memory
		s, err := vm.Stack(image.Registers)
		vm.LearnNames()
		vm.TraceCount()
		vm.Verify()
		vm.Text("jit", "version")
		const most = 1_000_000
		if memory.reads > most {
			t.Errorf("%#x everywhere: %d reads, %d frames, %v", word, memory.reads, len(s.Frames), err)
		}
	}
}

// TestCalibrate reads the layout of the installed LuaJIT. Debian 12's is known from its source; any
// other must at least be found.
func TestCalibrate(t *testing.T) {
	files, _ := filepath.Glob("/usr/lib/*-linux-gnu/libluajit-5.1.so.2")
	if len(files) == 0 || runtime.GOARCH != "amd64" {
		if os.Getenv("MOONLAP_TEST_REQUIRE_ALL") != "" {
			t.Fatal("no libluajit-5.1.so.2 for x86-64 here")
		}
		t.Skip("no libluajit-5.1.so.2 for x86-64 here")
	}
	library, err := process.OpenObject(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	got, err := Calibrate(library)
	if err != nil {
		t.Fatal(err)
	}
	if asm, err := interpreter(library); err != nil || asm.Size() < 10_000 {
		t.Errorf("interpreter %+v, %v", asm, err)
	}
	if n := len(callees(library, "lua_gc")); n == 0 {
		t.Error("lua_gc calls no function of its library: not even lj_gc_step")
	}
	debian12 := Layout{
		GlobalState: 0x10, Base: 0x20, Top: 0x28, Stack: 0x38, CFrame: 0x50, ExtraData: 0x60, Record: 0x68,
		VMState: 0xb8, MainThread: 0xc0, CurrentL: 0x170, JITBase: 0x178,
		Traces: 0x2e0 + 0x180, JITFlags: 0x2e0 + 0xa8, Hooks: 0x91, SnapshotPC: true, KnownIR: true,
		StateSize: 0x1898, StateTotal: 0x80,
	}
	note := library.ELF.Section(".note.gnu.build-id")
	if note == nil {
		return
	}
	id, err := note.Data()
	if err != nil {
		t.Fatal(err)
	}
	if known := "0a6563c55d870716908fd332f88bf7cdd9bc6a71"; strings.HasSuffix(hex.EncodeToString(id), known) {
		if diff := cmp.Diff(debian12, got); diff != "" {
			t.Errorf("(- Debian 12's source, + calibrated)\n%s", diff)
		}
	}
}

// TestCalibrateRefuses what is not LuaJIT.
func TestCalibrateRefuses(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o, err := process.OpenObject(program)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if l, err := Calibrate(o); err == nil {
		t.Errorf("this test has the layout %+v", l)
	}
}

// TestCalibrateElsewhere: a LuaJIT for another processor is not said to have 32-bit pointers.
func TestCalibrateElsewhere(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	const machine = 18 // e_machine in the header of an ELF file
	binary.LittleEndian.PutUint16(b[machine:], uint16(elf.EM_AARCH64))
	file := filepath.Join(t.TempDir(), "libluajit-5.1.so.2")
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	o, err := process.OpenObject(file)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, err := Calibrate(o); !errors.Is(err, ErrLayout) || !strings.Contains(err.Error(), "EM_AARCH64; LuaJIT is looked into on x86-64 only") {
		t.Error(err)
	}
}

func TestStateOf(t *testing.T) {
	for vmstate, want := range map[int32]State{
		0: Compiled, 7: Compiled, -1: Interpreted, -2: InC, -3: Collect, -4: TraceExit,
		-5: Record, -6: Optimize, -7: Assemble, -8: Unknown, -1 << 31: Unknown,
	} {
		s, trace := stateOf(vmstate)
		if s != want || trace != int(max(vmstate, 0)) {
			t.Errorf("%d is %v, trace %d; want %v", vmstate, s, trace, want)
		}
	}
}

func TestFunctionName(t *testing.T) {
	for line, want := range map[string]string{
		"local function spin(n)":                       "spin",
		"function _M.handle_spin() local x = 0":        "_M.handle_spin",
		"function M:get(key)":                          "M:get",
		"local get = function(key)":                    "get",
		"  handlers['x'] = function()":                 "handlers['x']",
		`routes["/a;b c"] = function()`:                `routes["/a;b c"]`,
		`local t = { ["GET /x"] = function()`:          `["GET /x"]`,
		"t[i].get = function()":                        "t[i].get",
		"t[i + 1] = function()":                        "",
		"return pcall(function() end)":                 "",
		"local function a() return function() end end": "",
		"": "",
	} {
		if got := functionName(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestChunkFile(t *testing.T) {
	for name, want := range map[string]string{
		"@/srv/app.lua":                  "/srv/app.lua",
		"=content_by_lua(nginx.conf:12)": "content_by_lua(nginx.conf:12)",
		"return 1":                       `[string "return 1"]`,
		"local x = 1\nreturn x":          `[string "local x = 1…"]`,
		"":                               `[string ""]`,
	} {
		if got := chunkFile(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
