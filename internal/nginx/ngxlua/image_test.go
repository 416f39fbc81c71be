package ngxlua

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/process/processtest"
	"github.com/moonlap/moonlap/internal/profile"
)

// savedModule is what an image of a worker's module needs to be read again.
type savedModule struct {
	VM         *luajit.VM
	Symbols    nginx.Symbols
	LuaConf    uint64
	Lua        uint64
	Phase      uint64
	PhaseBytes int
}

// inflightImage is of a worker in which a request waits in ngx.sleep, another one with a light thread, a timer runs, three are pending.
const inflightImage = "testdata/inflight.image"

// loadModule makes a module of an image that TestSaveWatched saves.
func loadModule(t rapid.TB, file string) (open func(process.Memory) *Module, image *processtest.Image) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if image, err = processtest.ReadImage(bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	var saved savedModule
	if err := json.Unmarshal(image.About, &saved); err != nil {
		t.Fatal(err)
	}
	return func(memory process.Memory) *Module {
		vm := *saved.VM
		vm.Memory = memory
		sources := luajit.Sources{Open: func(string) ([]byte, error) { return nil, errors.New("no source") }}
		w := &Module{
			VM: &vm, Nginx: &nginx.Nginx{Memory: memory, Symbols: saved.Symbols}, Memory: memory, conf: saved.LuaConf, at: saved.Lua,
			Named: func(f luajit.Frame) profile.Frame {
				name := sources.Name(f)
				if f.Kind == luajit.C && name == "" {
					name = nameless
				}
				return profile.Frame{Kind: profile.Kind(f.Kind), Function: name, File: f.File, FirstLine: f.FirstLn, Line: f.Line, LastLine: f.LastLine}
			},
		}
		w.layout.phase, w.layout.phaseBytes = saved.Phase, saved.PhaseBytes
		return w
	}, image
}

// nameless is a function in C: the image has no files.
const nameless = "(machine code of no file)"

func TestInFlightImage(t *testing.T) {
	open, image := loadModule(t, inflightImage)
	w := open(image)
	all, err := w.InFlight()
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, f := range all {
		if f.Lua != nil && f.Age >= 0 {
			seen = append(seen, fmt.Sprintf("%s %s %s %d", f.Method, f.URI, f.Phase, f.Lua.Line))
		}
	}
	slices.Sort(seen)
	// The last one is what keeps the test's nginx alive.
	if diff := cmp.Diff([]string{"  timer 1", "  timer 22", "GET /content content 5", "GET /thread content 14"}, seen); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	i := slices.IndexFunc(all, func(f InFlight) bool { return f.URI == "/thread" })
	if i < 0 || all[i].Threads == nil {
		t.Fatal("no light threads")
	}
	if got, want := draw(*all[i].Threads), "entry waits :14 "+nameless+" [thread waits :9 "+nameless+"]"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	timers, err := w.LuaTimers()
	timers.Count(all)
	if len(timers.Functions) != 2 || timers.Functions[0].Pending != 3 || timers.Functions[0].Running != 1 || timers.Functions[0].Function.Line != 21 {
		t.Errorf("%+v", timers.Functions)
	}
	if err != nil || timers.Pending != 3 || timers.Running != 2 || timers.Next == nil || timers.NextFunction.Line != 21 {
		t.Errorf("%+v, %v", timers, err)
	}
}

// bounded counts what is read: memory that is garbage must not be read without end.
type bounded struct {
	process.Memory
	reads int
}

func (b *bounded) ReadAt(p []byte, address uint64) error {
	b.reads++
	return b.Memory.ReadAt(p, address)
}

func (b *bounded) check(t rapid.TB, w *Module) {
	w.InFlight()
	w.LuaTimers()
	const most = 3_000_000
	if b.reads > most {
		t.Errorf("%d reads", b.reads)
	}
}

// TestSpoiltInFlight exchanges words of the memory: reading ends, with requests or an error.
func TestSpoiltInFlight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		open, image := loadModule(t, inflightImage)
		word := func(name string) []byte {
			part := image.Parts[rapid.IntRange(0, len(image.Parts)-1).Draw(t, name)].Bytes
			if len(part) < 8 {
				return make([]byte, 8)
			}
			at := 8 * rapid.IntRange(0, len(part)/8-1).Draw(t, name+" word")
			return part[at : at+8]
		}
		for range rapid.IntRange(1, 40).Draw(t, "words") {
			copy(word("to"), word("from"))
		}
		memory := &bounded{Memory: image}
		memory.check(t, open(memory))
	})
}

// everywhere has the same eight bytes at each address.
type everywhere uint64

func (e everywhere) ReadAt(b []byte, address uint64) error {
	for i := range b {
		b[i] = byte(e >> (8 * ((address + uint64(i)) % 8)))
	}
	return nil
}

// TestFilledInFlight reads memory that is the same everywhere, and never fails.
func TestFilledInFlight(t *testing.T) {
	open, _ := loadModule(t, inflightImage)
	for _, word := range []uint64{0, 1, 8, 0x1000, 1<<64 - 1, requestSignature, 0x0606_0606_0606_0606, 0x0101_0000_0101_0606} {
		memory := &bounded{Memory: everywhere(word)}
		memory.check(t, open(memory))
	}
}

// draw writes a tree of threads, each as kind state function:line waits-in, those that it has begun behind it in
// brackets and in the order of the alphabet.
func draw(t Thread) string {
	s := t.Kind + " " + t.State
	if t.Orphan {
		s += " orphan"
	}
	if t.Lua != nil {
		s += fmt.Sprintf(" %s:%d", strings.TrimPrefix(t.Lua.Function, "_M."), t.Lua.Line)
	}
	if t.Waits != "" {
		s += " " + t.Waits
	}
	var of []string
	for _, c := range t.Children {
		of = append(of, draw(c))
	}
	if slices.Sort(of); len(of) > 0 {
		s += " [" + strings.Join(of, ", ") + "]"
	}
	return s
}
