package ngxlua_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	ngx "github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/process/processtest"
	"github.com/moonlap/moonlap/internal/runtime/nginxtest"
)

var save = flag.String("save", "", "`FOLDER` to save images of workers in")

// TestSaveWatched saves what the reading of nginx's structures reads, for the tests of the room nginx,
// what that of the compiler's state does, for those of luajit, and what that of requests does; and reads
// the last one again.
func TestSaveWatched(t *testing.T) {
	folder := *save
	if folder == "" {
		folder = t.TempDir()
	}
	w, client := watched(t)
	nginxtest.Begin(t, client, "/content")
	nginxtest.Begin(t, client, "/thread")
	nginxtest.Get(t, client, "/timers")
	nginxtest.Get(t, client, "/fill")
	nginxtest.Get(t, client, "/blacklist")
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
	now, _ := ngx.Monotonic()
	n.Connections()
	n.EachConnection(func(uint64, uint64, int) {})
	n.Counters()
	n.Clock()
	n.Zones()
	n.Timers(now)
	write("watched", r, map[string]any{"Symbols": n.Symbols, "Now": now})

	r = &processtest.Recorder{Memory: w.Process}
	n = &ngx.Nginx{Memory: r, Symbols: w.Nginx.Symbols}
	zones, err := n.Zones()
	i := slices.IndexFunc(zones, func(z ngx.Zone) bool { return z.Name == "full" })
	if err != nil || i < 0 {
		t.Fatalf("%v, %v", zones, err)
	}
	d, err := n.Dict(zones[i])
	if err == nil {
		_, err = d.Scan(time.Now(), 1000, 1, rand.New(rand.NewPCG(1, 2)))
	}
	if err != nil {
		t.Fatal(err)
	}
	if all, err := d.Oldest(time.Now(), 1000); err != nil || d.Fate(all, time.Now()) != (ngx.Fate{}) {
		t.Errorf("%d of the oldest, %v", len(all), err)
	}
	write("dict", r, map[string]any{"Symbols": n.Symbols})

	var coroutine uint64
	w.Nginx.EachConnection(func(_, data uint64, _ int) {
		if co, ok := w.Coroutine(data); ok && (&process.Reader{Memory: w.Process}).U32(data) == ngxlua.Signature {
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

	nginxtest.Get(t, client, "/truth")
	// The worker goes on meanwhile: where that request ends in the middle of it, what is saved is neither
	// the one state nor the other.
	const tries = 20
	for try := 1; ; try++ {
		r = &processtest.Recorder{Memory: w.Process}
		recorded := w.Over(r)
		recorded.InFlight()
		recorded.LuaTimers()
		write("inflight", r, recorded.Saved())

		open, saved := ngxlua.Load(t, filepath.Join(folder, "inflight.image"))
		all, err := open(saved).InFlight()
		waits := func(uri string, threads bool) bool {
			return slices.ContainsFunc(all, func(f ngxlua.InFlight) bool { return f.URI == uri && f.Lua != nil && (f.Threads != nil) == threads })
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
