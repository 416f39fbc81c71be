package worker

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	ngx "github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/process/processtest"
)

// TestSaveWatched saves what the reading of nginx's structures reads, for the tests of the room nginx,
// what that of the compiler's state does, for those of luajit, and what that of requests does; and reads
// the last one again.
func TestSaveWatched(t *testing.T) {
	folder := *save
	if folder == "" {
		folder = t.TempDir()
	}
	w, client := watched(t)
	begin(t, client, "/content")
	begin(t, client, "/thread")
	get(t, client, "/timers")
	get(t, client, "/fill")
	get(t, client, "/blacklist")
	write := func(name string, r *processtest.Recorder, about any) {
		b, err := json.Marshal(about)
		if err != nil {
			t.Fatal(err)
		}
		image := r.Image(process.Registers{})
		image.About = b
		var file bytes.Buffer
		if err := image.Write(&file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".image"), file.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := &processtest.Recorder{Memory: w.Process}
	n := &ngx.Nginx{Memory: r, Symbols: w.Nginx.Symbols}
	now, _ := monotonic()
	n.Connections()
	n.EachConnection(func(uint64, uint64, int) {})
	n.Counters()
	n.Clock()
	n.Zones()
	n.Timers(now)
	write("watched", r, map[string]any{"Symbols": n.Symbols, "Now": now})

	r = &processtest.Recorder{Memory: w.Process}
	n = &ngx.Nginx{Memory: r, Symbols: w.Nginx.Symbols}
	d := dictOf(t, n, "full")
	scan(t, d, 1000, 1)
	if all, err := d.Oldest(time.Now(), 1000); err != nil || d.Fate(all, time.Now()) != (ngx.Fate{}) {
		t.Errorf("%d of the oldest, %v", len(all), err)
	}
	write("dict", r, map[string]any{"Symbols": n.Symbols})

	var coroutine uint64
	w.Nginx.EachConnection(func(_, data uint64, _ int) {
		if co, ok := w.coroutine(data); ok && (&process.Reader{Memory: w.Process}).U32(data) == requestSignature {
			if _, err := w.VM.Suspended(co); err == nil {
				coroutine = co
			}
		}
	})
	r = &processtest.Recorder{Memory: w.Process}
	vm := *w.VM
	vm.Memory = r
	vm.GC()
	vm.JIT()
	vm.Blacklist(time.Minute)
	vm.Suspended(coroutine)
	vm.Entry(coroutine)
	vm.Memory = nil
	write("health", r, map[string]any{"VM": &vm, "Coroutine": coroutine})

	get(t, client, "/truth")
	// The worker goes on meanwhile: where that request ends in the middle of it, what is saved is neither
	// the one state nor the other.
	const tries = 20
	for try := 1; ; try++ {
		r = &processtest.Recorder{Memory: w.Process}
		vm, n = *w.VM, &ngx.Nginx{Memory: r, Symbols: w.Nginx.Symbols}
		vm.Memory = r
		recorded := *w
		recorded.VM, recorded.Nginx, recorded.memory = &vm, n, r
		recorded.request, recorded.luaCtx.entry, recorded.luaCtx.current, recorded.luaCtx.records = requestLayout{}, 0, 0, false
		recorded.threadCtx, recorded.timers = threadLayout{}, timerLayout{}
		recorded.InFlight()
		recorded.LuaTimers()
		vm.Memory = nil
		write("inflight", r, savedWorker{&vm, n.Symbols, w.luaConf, w.lua, w.luaCtx.phase, w.luaCtx.phaseBytes})

		open, saved := loadWorker(t, filepath.Join(folder, "inflight.image"))
		all, err := open(saved).InFlight()
		waits := func(uri string, threads bool) bool {
			return slices.ContainsFunc(all, func(f InFlight) bool { return f.URI == uri && f.Lua != nil && (f.Threads != nil) == threads })
		}
		if err == nil && waits("/content", false) && waits("/thread", true) {
			return
		}
		if try == tries {
			t.Fatalf("what was saved reads as %+v, %v", all, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
